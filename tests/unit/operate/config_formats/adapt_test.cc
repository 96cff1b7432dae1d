#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "config/reader/changes.h"
#include "operate/config_formats/client_file.h"
#include "operate/config_formats/format_yaml.h"
#include "operate/config_formats/toml.h"
#include "operate/config_formats/tree_text.h"
#include "unit/config/reader/loading.h"

using namespace lineward;
using namespace lineward::config_formats;
using lineward::config::testing::load;

namespace {

ClientFile read(const std::string& text, const std::string& name, std::optional<Form> from = std::nullopt) {
  auto file = read_client_file(text, name, from);
  INFO((file ? std::string() : file.error().text));
  REQUIRE(file);
  return std::move(*file);
}

std::string joined(const std::vector<std::string>& remarks) {
  std::string out;
  for (const std::string& one : remarks)
    out += one + "\n";
  return out;
}

std::string adapted(const ClientFile& file, Form to) {
  return write_client_file(file, to).text;
}

const std::string kOurs = R"(listen: { address: ":9000" }
mcpServers:
  github:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-github"]
    env: { GITHUB_TOKEN: "${env:GITHUB_TOKEN}", LEVEL: "${LEVEL:-info}" }
    cwd: /srv
    timeouts: { maxDuration: 90s, connect: 1s, startup: 20s }
    tools: { allow: [search_code], deny: [delete_repo] }
  search:
    url: https://mcp.example.com/mcp
    headers: { Authorization: "Bearer ${env:SEARCH}", X-Tenant: "${env:TENANT}", X-Plain: "it's: #1" }
)";

}  // namespace

TEST_CASE("our file as the file of each client") {
  const ClientFile file = read(kOurs, "lineward.yaml");
  CHECK(file.form == Form::yaml);
  CHECK(adapted(file, Form::vscode) == R"({
  "servers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {
        "GITHUB_TOKEN": "${env:GITHUB_TOKEN}",
        "LEVEL": "${env:LEVEL}"
      },
      "cwd": "/srv"
    },
    "search": {
      "type": "http",
      "url": "https://mcp.example.com/mcp",
      "headers": {
        "Authorization": "Bearer ${env:SEARCH}",
        "X-Tenant": "${env:TENANT}",
        "X-Plain": "it's: #1"
      }
    }
  }
}
)");
  CHECK(adapted(file, Form::claude_code) == R"({
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {
        "GITHUB_TOKEN": "${GITHUB_TOKEN}",
        "LEVEL": "${LEVEL:-info}"
      },
      "timeout": 90000
    },
    "search": {
      "type": "http",
      "url": "https://mcp.example.com/mcp",
      "headers": {
        "Authorization": "Bearer ${SEARCH}",
        "X-Tenant": "${TENANT}",
        "X-Plain": "it's: #1"
      }
    }
  }
}
)");
  CHECK(adapted(file, Form::codex) == R"([mcp_servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
cwd = "/srv"
env_vars = ["GITHUB_TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 90
enabled_tools = ["search_code"]
disabled_tools = ["delete_repo"]

[mcp_servers.github.env]
LEVEL = "${LEVEL:-info}"

[mcp_servers.search]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "SEARCH"

[mcp_servers.search.http_headers]
X-Plain = "it's: #1"

[mcp_servers.search.env_http_headers]
X-Tenant = "TENANT"
)");
  const std::string gemini = adapted(file, Form::gemini);
  CHECK(gemini.find(R"("type": "http",
      "url": "https://mcp.example.com/mcp")") != std::string::npos);
  CHECK(gemini.find(R"("LEVEL": "${LEVEL:-info}")") != std::string::npos);
  CHECK(gemini.find(R"("includeTools": ["search_code"])") != std::string::npos);
  CHECK(gemini.find(R"("timeout": 90000)") != std::string::npos);
  const std::string desktop = adapted(file, Form::claude);
  CHECK(desktop.find("\"stdio\",") != std::string::npos);
  CHECK(desktop.find("\"Authorization: ${env:MCP_HEADER_1}\"") != std::string::npos);
  CHECK(desktop.find("\"MCP_HEADER_1\": \"Bearer ${env:SEARCH}\"") != std::string::npos);
  const std::string cursor = adapted(file, Form::cursor);
  CHECK(cursor.find("\"type\"") == std::string::npos);
  CHECK(cursor.find("\"cwd\"") == std::string::npos);
}

TEST_CASE("what a form cannot say is told, and no value is") {
  const ClientFile file = read(R"(
rateLimit: { requests: 1 }
mcpServers:
  a: { command: x, env: { T: "pre-${env:T:-s3cr3t}" }, cwd: /w, envFile: e.env, timeouts: { connect: 1s }, tools: { allow: ["get_*"] } }
  b: { url: "https://h/sse", type: sse, disabled: true }
  c: { command: "${file:/run/s3cr3t}" }
)",
                               "lineward.yaml");
  const std::string told = joined(write_client_file(file, Form::claude).remarks);
  CHECK(told == R"(rateLimit is Lineward's own, and is left out
server 'a': cwd cannot be said to Claude Desktop, and is left out
server 'a': envFile cannot be said to Claude Desktop, and is left out
server 'a': tools.allow cannot be said to Claude Desktop, and is left out
server 'a': timeouts is Lineward's own, and is left out
server 'a': env.T: Claude Desktop does not replace ${env:T}; its server would get this text as it is
server 'b': it is disabled, which cannot be said to Claude Desktop: it is left out
server 'c': command: Claude Desktop does not replace ${file:…}; its server would get this text as it is
)");
  for (Form to : {Form::vscode, Form::cursor, Form::gemini, Form::codex, Form::claude_code})
    CHECK(joined(write_client_file(file, to).remarks).find("s3cr3t") == std::string::npos);
  CHECK(joined(write_client_file(file, Form::vscode).remarks).find("knows no default for ${T}") !=
        std::string::npos);
  CHECK(joined(write_client_file(file, Form::gemini).remarks).find("no patterns") != std::string::npos);
  CHECK(write_client_file(file, Form::yaml).remarks.empty());
}

TEST_CASE("Claude Desktop: what is said of a header names the header, and where its value belongs") {
  const ClientFile file =
      read("mcpServers: { a: { url: \"https://h/mcp\", headers: { X-Api-Key: \"${env:KEY}\" } } }",
           "lineward.yaml");
  const std::string told = joined(write_client_file(file, Form::claude).remarks);
  CHECK(told.find("headers.X-Api-Key: Claude Desktop does not replace ${env:KEY}") != std::string::npos);
  CHECK(told.find("headers.X-Api-Key: write its value into env as MCP_HEADER_1") != std::string::npos);
  CHECK(told.find("headers.MCP_HEADER_1") == std::string::npos);
}

TEST_CASE("our file by its other word, servers, is ours") {
  const std::string text = R"(listen: { address: ":9000" }
auth: { anonymous: allow }
servers: { a: { command: x } }
mcpServers: { b: { command: y } }
)";
  const ClientFile file = read(text, "lineward.yaml");
  CHECK(file.form == Form::yaml);
  REQUIRE(file.servers.size() == 2);
  REQUIRE(file.own.size() == 2);
  CHECK(joined(write_client_file(file, Form::claude).remarks) ==
        "listen, auth are Lineward's own, and are left out\n");
  const std::string again = adapted(file, Form::yaml);
  CHECK(again.find("\nservers:") == std::string::npos);
  CHECK(again.find("mcpServers:\n  b:") != std::string::npos);
  CHECK(again.find("9000") != std::string::npos);
  for (const char* name : {"lineward.json", "mcp.json"}) {
    const ClientFile json =
        read(R"({"listen": {"address": ":1"}, "servers": {"a": {"command": "x"}}})", name);
    CHECK(json.form == Form::mcp_servers);
    CHECK(json.servers.size() == 1);
  }
  CHECK(read(R"({"servers": {"a": {"command": "x"}}, "inputs": []})", "mcp.json").form == Form::vscode);
  CHECK(
      read(R"({"mcp": {"servers": {"a": {"command": "x"}}}, "editor.fontSize": 1})", "settings.json").form ==
      Form::vscode);
  CHECK(joined(read("listen: { address: \":1\" }", "x.yaml").remarks).find("no servers") !=
        std::string::npos);
}

TEST_CASE("clients' files become ours, and are valid") {
  struct Case {
    const char* name;
    Form form;
    std::string text;
    std::string yaml;
  };
  const Case cases[] = {
      {"claude_desktop_config.json", Form::claude,
       R"({"globalShortcut": "x", "mcpServers": {"fs": {"command": "npx", "args": ["-y", "fs", "/tmp"]}}})",
       "mcpServers:\n  fs:\n    command: npx\n    args: [\"-y\", fs, /tmp]\n"},
      {".mcp.json", Form::claude_code,
       R"({"mcpServers": {"h": {"type": "http", "url": "https://h/mcp", "headers": {"A": "${TOKEN:-none}"}, "timeout": 5000}}})",
       "mcpServers:\n  h:\n    type: http\n    url: https://h/mcp\n    headers:\n      A: "
       "\"${TOKEN:-none}\"\n"
       "    timeouts:\n      maxDuration: 5s\n      request: 5s\n"},
      {"settings.json", Form::gemini,
       R"({"theme": "x", "mcpServers": {"g": {"httpUrl": "https://g/mcp", "headers": {"A": "$TOKEN"}, "trust": true, "excludeTools": ["rm"]}}})",
       "mcpServers:\n  g:\n    type: http\n    url: https://g/mcp\n    headers:\n      A: \"${TOKEN}\"\n"
       "    tools:\n      deny: [rm]\n"},
      {"mcp.json", Form::vscode,
       R"({ // as VS Code writes it
         "inputs": [{"id": "key", "type": "promptString"}],
         "servers": {"v": {"command": "run", "env": {"K": "${input:key}"}, "envFile": "${workspaceFolder}/.env"},},
       })",
       "inputs:\n  - { id: key, type: promptString }\nmcpServers:\n  v:\n    command: run\n    env:\n"
       "      K: \"${input:key}\"\n    envFile: \"${workspaceFolder}/.env\"\n"},
      {"config.toml", Form::codex,
       "model = \"o\"\n[mcp_servers.c]\ncommand = 'run'\nargs = [\n  \"a\", # one\n  \"b\",\n]\nenv_vars = "
       "[\"T\"]\n"
       "env = { \"X\" = \"1\" }\nenabled = false\nstartup_timeout_sec = 2.5\n[mcp_servers.\"u\"]\nurl = "
       "\"https://u/mcp\"\n"
       "bearer_token_env_var = \"B\"\n",
       "mcpServers:\n  c:\n    command: run\n    args: [a, b]\n    env:\n      T: "
       "\"${env:T}\"\n      X: \"1\"\n"
       "    disabled: true\n    timeouts:\n      startup: 2.5s\n  u:\n    url: https://u/mcp\n    headers:\n"
       "      Authorization: \"Bearer ${env:B}\"\n"},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    const ClientFile file = read(one.text, one.name);
    CHECK(file.form == one.form);
    const std::string yaml = adapted(file, Form::yaml);
    CHECK(yaml == one.yaml);
    auto result = load(yaml, {{"TOKEN", "t"}, {"T", "t"}, {"B", "b"}, {"LINEWARD_INPUT_KEY", "k"}});
    for (const auto& one_fault : result.diagnostics)
      CHECK((one_fault.severity != config::Severity::error || one_fault.code == "missing-file"));
    // There and back says the same.
    const std::string there = adapted(file, one.form);
    INFO(there);
    CHECK(adapted(read(there, "x.json", one.form), Form::yaml) == yaml);
  }
}

TEST_CASE("the user file of Claude Code gives its servers and nothing of its user") {
  const std::string text =
      R"({"userID": "somebody", "mcpServers": {"a": {"type": "stdio", "command": "x"}},
          "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}, "/q": {"mcpServers": {}}}})";
  for (const char* name : {".claude.json", "stdin"}) {
    const ClientFile file = read(text, name);
    CHECK(file.form == Form::claude_code);
    CHECK(adapted(file, Form::yaml) == "mcpServers:\n  a:\n    command: x\n");
    CHECK(joined(file.remarks).find("the servers of project /p are left out") != std::string::npos);
    CHECK(joined(file.remarks).find("/q") == std::string::npos);
  }
}

TEST_CASE("Gemini CLI: which servers it may start, and the transport that a url names") {
  const std::string text =
      R"({"mcp": {"allowed": ["a", "b", "c"], "excluded": ["b"]},
          "mcpServers": {"a": {"type": "http", "url": "https://a/mcp"}, "b": {"url": "https://b/mcp"},
                         "c": {"url": "https://c/sse", "type": "sse"},
                         "d": {"url": "https://no", "httpUrl": "https://d/mcp", "type": "sse"}}})";
  const ClientFile file = read(text, "settings.json");
  CHECK(file.form == Form::gemini);
  REQUIRE(file.servers.size() == 4);
  CHECK(file.servers[0].type == "http");
  // Gemini CLI tries both where nothing is said, as Lineward does.
  CHECK(file.servers[1].type.empty());
  CHECK(file.servers[2].type == "sse");
  CHECK(file.servers[3].type == "http");
  CHECK(file.servers[3].url == "https://d/mcp");
  CHECK_FALSE(file.servers[0].disabled);
  CHECK(file.servers[1].disabled);
  CHECK_FALSE(file.servers[2].disabled);
  CHECK(file.servers[3].disabled);
}

TEST_CASE("Gemini CLI: tools with arguments behind them, and what only it replaces") {
  const ClientFile file = read(
      R"x({"mcpServers": {"a": {"command": "x", "includeTools": ["run", "look(at)"], "authProviderType": "g"}}})x",
      "settings.json", Form::gemini);
  CHECK(file.servers[0].allow == std::vector<std::string>{"run", "look"});
  CHECK(joined(file.remarks).find("authProviderType is between the client and its user") !=
        std::string::npos);
  const ClientFile ours =
      read("mcpServers: { a: { command: x, args: [$HOME, 'costs $5', '$${A}'] } }", "l.yaml");
  const Adapted there = write_client_file(ours, Form::gemini);
  CHECK(there.text.find(R"(["$HOME", "costs $5", "${A}"])") != std::string::npos);
  CHECK(joined(there.remarks) ==
        "server 'a': args: Gemini CLI replaces $NAME too, not only ${NAME}\n"
        "server 'a': args: Gemini CLI has no way to write ${ as text, and may replace it\n");
}

TEST_CASE("where a client replaces nothing, its ${…} stay text") {
  for (const auto& [text, name] :
       {std::pair(
            R"({"mcpServers": {"a": {"command": "x", "args": ["${A}", "b"], "env": {"E": "p${E:-f}"}}}})",
            "claude_desktop_config.json"),
        std::pair("[mcp_servers.a]\ncommand = 'x'\nargs = ['${A}', 'b']\nenv = { E = 'p${E:-f}' }\n",
                  "config.toml")}) {
    const ClientFile file = read(text, name);
    CHECK(file.servers[0].args == std::vector<std::string>{"$${A}", "b"});
    CHECK(file.servers[0].env == ClientServer::Pairs{{"E", "p$${E:-f}"}});
    CHECK(joined(file.remarks).find("replaces no ${…}, so those in args are kept as text") !=
          std::string::npos);
    // It goes back as it came.
    const Adapted back = write_client_file(file, file.form);
    CHECK(back.text.find("\"p${E:-f}\"") != std::string::npos);
    auto result = load(adapted(file, Form::yaml));
    CHECK(result.ok());
  }
}

TEST_CASE("Claude Code ignores a timeout of less than a second") {
  const ClientFile file = read(R"({"mcpServers": {"a": {"command": "x", "timeout": 500}}})", ".mcp.json");
  CHECK_FALSE(file.servers[0].max_duration);
  CHECK(joined(file.remarks).find("ignores a timeout") != std::string::npos);
  const ClientFile ours =
      read("mcpServers: { a: { command: x, timeouts: { maxDuration: 500ms } } }", "lineward.yaml");
  const Adapted there = write_client_file(ours, Form::claude_code);
  CHECK(there.text.find("timeout") == std::string::npos);
  CHECK(joined(there.remarks).find("ignores a timeout") != std::string::npos);
}

TEST_CASE("words of editors are no variables of the environment") {
  const ClientFile file =
      read(R"({"servers": {"a": {"command": "${workspaceFolder}/${workspaceFolderBasename}"}}})", "mcp.json");
  CHECK(adapted(file, Form::cursor).find("\"${workspaceFolder}/${workspaceFolderBasename}\"") !=
        std::string::npos);
}

TEST_CASE("Codex: variables that are maps, and the approval of tools") {
  const ClientFile file = read(
      "[mcp_servers.c]\ncommand = 'x'\nenv_vars = [\"A\", { name = \"B\", source = \"local\" }]\n"
      "[mcp_servers.c.tools.search]\napproval_mode = \"approve\"\n",
      "config.toml");
  REQUIRE(file.servers.size() == 1);
  CHECK(file.servers[0].env == ClientServer::Pairs{{"A", "${env:A}"}, {"B", "${env:B}"}});
  CHECK(file.servers[0].own.empty());
  CHECK(joined(file.remarks).find("approved tools") != std::string::npos);
  const ClientFile helped =
      read("[mcp_servers.c]\nurl = 'https://h/mcp'\nhttp_headers_helper = 'token'\n", "c.toml");
  CHECK(joined(helped.remarks).find("starts no program for headers") != std::string::npos);
  const ClientFile ours = read(
      "mcpServers: { a: { url: 'https://h', headers: { authorization: 'Bearer ${env:T}' } } }", "l.yaml");
  CHECK(adapted(ours, Form::codex).find("bearer_token_env_var = \"T\"") != std::string::npos);
}

TEST_CASE("in our own file servers have names that it takes, in a client's those that were written") {
  const ClientFile file = read(
      R"({"mcpServers": {"My notes": {"command": "x"}, "@scope/x": {"command": "x"}, "ok": {"command": "x"}}})",
      "mcp.json");
  const Adapted ours = write_client_file(file, Form::yaml);
  CHECK(ours.text ==
        "mcpServers:\n  My-notes:\n    command: x\n  scope-x:\n    command: x\n  ok:\n    command: x\n");
  CHECK(joined(ours.remarks).find("server 'My notes': it is called 'My-notes' here") != std::string::npos);
  CHECK(load(ours.text).ok());
  CHECK(adapted(file, Form::cursor).find("\"My notes\"") != std::string::npos);
}

TEST_CASE("what is left out of a server is told") {
  const ClientFile file = read(
      R"({"mcpServers": {"s": {"command": "x", "args": ["a", null, ["n"], 1], "env": {"N": null, "M": {"q": 1}, "P": 8}},
              "w": {"type": "ws", "url": "wss://h"}}})",
      "mcp.json");
  CHECK(file.servers[0].args == std::vector<std::string>{"a", "1"});
  CHECK(file.servers[0].env == ClientServer::Pairs{{"P", "8"}});
  CHECK(file.servers[1].type.empty());
  const std::string told = joined(file.remarks);
  CHECK(told.find("'s': args has something that is no text") != std::string::npos);
  CHECK(told.find("'s': env has something that is no text") != std::string::npos);
  CHECK(told.find("'w': Lineward speaks no ws") != std::string::npos);
}

TEST_CASE("a bare timeout has no unit unless the client is named") {
  const std::string text = R"({"mcpServers": {"s": {"command": "x", "timeout": 30}}})";
  CHECK(joined(read(text, "mcp.json").remarks).find("has no unit") != std::string::npos);
  CHECK(read(text, "mcp.json", Form::gemini).servers[0].max_duration == std::chrono::milliseconds(30));
}

TEST_CASE("what is no such file is refused with its place") {
  for (const char* text : {"", "[]", "{", "x", "{\"a\": 1}", "null"})
    CHECK_FALSE(read_client_file(text, "a.json", std::nullopt));
  CHECK(read_client_file("{\"mcpServers\": {\"s\": 1, \"t\": null}}", "a.json", std::nullopt));
  CHECK_FALSE(read_client_file("{\"mcpServers\": {}}", "a.json", Form::vscode)->servers.size() > 0);
  for (const char* text :
       {"[", "[a", "a", "a =", "a = \"", "a = [", "a = {", "a = 1 2", "a = 1\na = 2", "= 1", "[[a]",
        "a = \"\\u12\"", "a = 1\n[a]", "a.b = 1\na = 2", "a = \"\\uD800\"", "a = '''"}) {
    INFO(text);
    CHECK_FALSE(parse_toml(text));
  }
  CHECK_FALSE(parse_toml("a = " + std::string(100, '[')));
  std::string dotted = "a";
  for (int i = 0; i < 40; ++i)
    dotted += ".a";
  CHECK_FALSE(parse_toml(dotted + " = 1"));
  std::string keys, tables;
  for (int i = 0; i < 50'000; ++i) {
    keys += std::to_string(i) + " = 1\n";
    tables += "[" + std::to_string(i) + "]\n";
  }
  for (const std::string& many : {keys, tables}) {
    auto refused = parse_toml(many);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("more than 4096 keys") != std::string::npos);
  }
}

TEST_CASE("TOML as it is written") {
  auto root = parse_toml(
      "# head\r\ntitle = \"a\\tb\\u00e4\" # c\n'odd key' = '''\nline\n'''\nn = 1_000\n[a.b]\nx = [[1, 2], "
      "[\"#\"]]\n"
      "[[list]]\nv = 1\n[[list]]\nv = 2\n[list.sub]\nw = true\n");
  REQUIRE(root);
  CHECK(root->find("title")->value.text == "a\tb\xc3\xa4");
  CHECK(root->find("odd key")->value.text == "line\n");
  CHECK(root->find("n")->value.text == "1000");
  auto quotes = parse_toml("a = \"\"\"x\"\"\"\"\nb = \'\'\'y\'\'\'\'\'\nc = \"\"\"\"\"\"\n");
  REQUIRE(quotes);
  CHECK(quotes->find("a")->value.text == "x\"");
  CHECK(quotes->find("b")->value.text == "y\'\'");
  CHECK(quotes->find("c")->value.text.empty());
  CHECK(root->find("a")->value.find("b")->value.find("x")->value.items[1].items[0].text == "#");
  const auto& list = root->find("list")->value.items;
  REQUIRE(list.size() == 2);
  CHECK(list[1].find("sub")->value.find("w")->value.text == "true");
}

TEST_CASE("texts survive YAML, JSON and TOML whatever they are") {
  for (const std::string& text :
       {std::string("yes"),    std::string("1.0"), std::string("- a"), std::string("a: b"),
        std::string("a #b"),   std::string(""),    std::string(" x "), std::string("'\"\\"),
        std::string("a\nb\t"), std::string("{x}"), std::string("*a"),  std::string("&a"),
        std::string("!t"),     std::string("%x"),  std::string("@x"),  std::string("null"),
        std::string("ä"),      std::string("x:"),  std::string("~"),   std::string("${env:A}")}) {
    Node root;
    add_member(root, "k", text_node(text));
    add_member(root, "l", list_node({text, text}));
    INFO(text);
    for (auto syntax : {config::Syntax::yaml, config::Syntax::json}) {
      const std::string out = syntax == config::Syntax::yaml ? yaml_text(root) : json_text(root);
      INFO(out);
      config::Document again = config::parse_document(out, syntax);
      REQUIRE(again.diagnostics.empty());
      CHECK(again.root.find("k")->value.text == text);
      CHECK(again.root.find("l")->value.items.at(1).text == text);
    }
    auto toml = parse_toml("k = " + toml_string(text));
    REQUIRE(toml);
    CHECK(toml->find("k")->value.text == text);
  }
}

TEST_CASE("a configuration is put in order, its comments go along, and it stays as it is then") {
  const std::string text = R"(# yaml-language-server: $schema=./lineward.schema.json
# About the servers.
mcpServers:
  # The second server that there was.
  b:
    args: [x]   # behind


    command: run
    # limits of it
    limits:
      maxQueue: 3
      maxInFlight: 2
  a: { url: "http://127.0.0.1:1/mcp" }
toolFilter: { deny: [x] }
rateLimit: { requests: 1 }

# Where it listens.
# In two lines.
listen:
  path: /m
  address: 127.0.0.1:1
)";
  auto formatted = format_yaml(text, "t.yaml");
  REQUIRE(formatted);
  CHECK(*formatted == R"(# yaml-language-server: $schema=./lineward.schema.json
# Where it listens.
# In two lines.
listen:
  address: 127.0.0.1:1
  path: /m
toolFilter: { deny: [x] }
rateLimit: { requests: 1 }

# About the servers.
mcpServers:
  # The second server that there was.
  b:
    command: run
    args: [x]   # behind

    # limits of it
    limits:
      maxInFlight: 2
      maxQueue: 3
  a: { url: "http://127.0.0.1:1/mcp" }
)");
  CHECK(*format_yaml(*formatted, "t.yaml") == *formatted);
  const auto before = load(text), after = load(*formatted);
  CHECK(before.ok());
  CHECK(config::compare(before.config, after.config).none());
  CHECK_FALSE(format_yaml("a: [", "t.yaml"));
  CHECK(line_diff("a\nb\nc\n", "a\nc\nd\n") == " a\n-b\n c\n+d\n");
  CHECK(line_diff("a\n", "a\n").empty());
}

TEST_CASE(
    "blanks at the ends of lines go, but within texts of several lines, and so does the mark before all") {
  const std::string text =
      "mcpServers:  \n"
      "  a:\n"
      "    args:   \n"
      "      - -c\n"
      "      - |\n"
      "        one  \n"
      "\n"
      "\n"
      "        two\n"
      "      - 'three  \n"
      "\n"
      "\n"
      "        four'   \n"
      "\n"
      "\n"
      "    command: sh   \n"
      "listen:  \n"
      "  path: /m\t\n"
      "\n";
  const std::string formatted =
      "listen:\n"
      "  path: /m\n"
      "mcpServers:\n"
      "  a:\n"
      "    command: sh\n"
      "    args:\n"
      "      - -c\n"
      "      - |\n"
      "        one  \n"
      "\n"
      "\n"
      "        two\n"
      "      - 'three  \n"
      "\n"
      "\n"
      "        four'\n";
  CHECK(*format_yaml(text, "t.yaml") == formatted);
  CHECK(*format_yaml(formatted, "t.yaml") == formatted);
  CHECK(*format_yaml("\xEF\xBB\xBF" + text, "t.yaml") == formatted);
  const std::string open = "mcpServers:\n  a:\n    command: sh\nlisten:\n  path: /m";
  CHECK(*format_yaml(open, "t.yaml") == "listen:\n  path: /m\nmcpServers:\n  a:\n    command: sh\n");
  const std::string kept = "mcpServers:\n  a:\n    command: sh\n    args:\n      - |+\n        x\n\n\n";
  CHECK(*format_yaml(kept, "t.yaml") == kept);
  const std::string clipped =
      "mcpServers:\n  a:\n    cwd: |\n      /tmp  \n\n\n    command: sh\n  # of b\n  b:\n    command: sh\n";
  CHECK(*format_yaml(clipped, "t.yaml") ==
        "mcpServers:\n  a:\n    command: sh\n    cwd: |\n      /tmp  \n\n  # of b\n  b:\n    command: sh\n");
  const std::string last =
      "mcpServers:\n  a:\n    command: sh\n    cwd: |-\n      /tmp\n  b:\n    command: sh\n";
  CHECK(*format_yaml("shutdown: { drain: 1s }\n" + last, "t.yaml") == "shutdown: { drain: 1s }\n" + last);
}
