# server.rb stdio | http PORT: the fixture of this suite on the official Ruby SDK. It speaks both eras.
require "mcp"

server = MCP::Server.new(name: "fixture-ruby", version: "1.0.0")

def text(text) = MCP::Tool::Response.new([{ type: "text", text: text }])

server.define_tool(name: "echo", description: "x",
                   input_schema: { properties: { text: { type: "string" } }, required: ["text"] }) { |text:| text("echo: #{text}") }
server.define_tool(name: "fail", description: "x") { MCP::Tool::Response.new([{ type: "text", text: "broken on purpose" }], error: true) }
server.define_tool(name: "steps", description: "x",
                   input_schema: { properties: { count: { type: "integer" } }, required: ["count"] }) do |count:, server_context:|
  count.times { |i| server_context.report_progress(i + 1, total: count) }
  text("#{count} steps")
end
server.define_tool(name: "tell", description: "x") do |server_context:|
  server_context.notify_log_message(data: "a line of the log", level: "info")
  text("told")
end
# Towards a client of 2026-07-28 this is an input request, towards an older one a request of the server's own.
server.define_tool(name: "ask", description: "x") do |server_context:|
  answer = server_context.input_response("colour")
  next text("colour: #{answer.dig(:content, :colour) || answer.dig("content", "colour")}") if answer

  MCP::Server::InputRequiredResult.new(
    input_requests: { "colour" => { method: "elicitation/create", params: {
      message: "Which colour?",
      requestedSchema: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
    } } },
    request_state: "asked",
  )
end
server.define_prompt(name: "greet", description: "x", arguments: [MCP::Prompt::Argument.new(name: "name", required: false)]) do |args, server_context:|
  MCP::Prompt::Result.new(messages: [MCP::Prompt::Message.new(role: "user", content: MCP::Content::Text.new("Greet #{args&.dig(:name) || "you"}."))])
end
server.define_resource(uri: "memo://one", name: "memo-one", mime_type: "text/plain") do
  MCP::Resource::TextContents.new(uri: "memo://one", mime_type: "text/plain", text: "memo one")
end
server.define_resource_template(uri_template: "memo://hello/{name}", name: "memo-hello", mime_type: "text/plain") do |name:|
  MCP::Resource::TextContents.new(uri: "memo://hello/#{name}", mime_type: "text/plain", text: "hello #{name}")
end

if ARGV[0] == "http"
  require "rackup"
  require "puma"
  require "rack/handler/puma"
  transport = MCP::Server::Transports::StreamableHTTPTransport.new(server)
  Rackup::Handler.get("puma").run(Rack::Builder.new { run(transport) }.to_app, Port: ARGV[1].to_i, Host: "127.0.0.1", Silent: true)
else
  MCP::Server::Transports::StdioTransport.new(server).open
end
