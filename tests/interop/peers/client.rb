# client.rb legacy | modern http URL | stdio COMMAND…: asks for each feature, and prints a line "feature<TAB>what came" for each.
require "mcp"
require "timeout"

era, road, *rest = ARGV
transport = road == "http" ? MCP::Client::HTTP.new(url: rest[0]) : MCP::Client::Stdio.new(command: rest[0], args: rest[1..], read_timeout: 60)
client = MCP::Client.new(transport: transport)
$stdout.sync = true

# The client passes no arguments of a prompt, and gives nobody the progress and the log. In a session on stdio it has no ear for
# questions of the server's own.
asks = era == "modern" || road == "http"
client.on_elicitation { |_params| { action: "accept", content: { colour: "blue" } } } if asks
client.connect(client_info: { name: "ruby", version: "1" }, capabilities: asks ? { elicitation: {} } : {}, mode: era.to_sym)
puts "version\t#{client.protocol_version}"

# Of several servers as one the first with that name: the others are told apart by a prefix.
named = ->(items, name) { items.find { |item| (item.respond_to?(:name) ? item.name : item["name"]).end_with?(name) } }
tools = client.tools
call = lambda do |tool, arguments = {}|
  result = client.call_tool(tool: named.(tools, tool), arguments: arguments)["result"]
  (result["isError"] ? "error: " : "") + result["content"][0]["text"]
end
read = ->(uri) { client.read_resource(uri: uri).then { |read| (read.is_a?(Array) ? read : read["contents"])[0]["text"] } }

{
  echo: -> { call.("echo", { text: "Grüße ✓" }) },
  large: -> { call.("echo", { text: "x" * 300_000 }).length },
  fail: -> { call.("fail") },
  unknown: -> { client.call_tool(name: "no-such-tool", arguments: {}).dig("result", "isError") ? "error" : "no error" },
  ask: -> { call.("ask") },
  resource: -> { read.(named.(client.resources, "memo-one")["uri"]) },
  template: -> { read.(named.(client.resource_templates, "memo-hello")["uriTemplate"].sub("{name}", "you")) },
  prompt: -> { client.get_prompt(name: named.(client.prompts, "greet")["name"]).then { |got| (got["result"] || got)["messages"][0]["content"]["text"] } },
  many: -> { (0...20).count { |i| call.("echo", { text: i.to_s }) == "echo: #{i}" } },
  ping: -> { client.ping; "pong" },
}.each do |name, feature|
  value = begin
    Timeout.timeout(15) { feature.call }
  rescue MCP::Client::ServerError, MCP::Client::RequestHandlerError => e
    name == :unknown ? "error" : "failed: #{e.class} #{e.message}"
  rescue StandardError => e
    "failed: #{e.class} #{e.message}"
  end
  puts "#{name}\t#{value.to_s.tr("\n", " ")[0, 300]}"
end
transport.close
