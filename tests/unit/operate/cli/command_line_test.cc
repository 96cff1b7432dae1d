#include "operate/cli/command_line.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "config/options/options_text.h"

using namespace lineward;
using namespace lineward::cli;
using namespace std::chrono_literals;

namespace {

struct Outcome {
  int exit_code = -1;  // -1: there is something to run
  Invocation invocation;
  std::string out, err;
};

using Environment = std::map<std::string, std::string, std::less<>>;

Outcome call(std::vector<const char*> words, Environment environment = {}) {
  words.insert(words.begin(), "lineward");
  config::EnvLookup lookup = [&environment](std::string_view name) -> std::optional<std::string> {
    auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  std::ostringstream out, err;
  auto result = parse_command_line(static_cast<int>(words.size()), words.data(), "1.2.3", lookup, out, err);
  Outcome outcome;
  outcome.out = out.str();
  outcome.err = err.str();
  if (auto* code = std::get_if<ExitCode>(&result)) {
    outcome.exit_code = static_cast<int>(*code);
  } else {
    outcome.invocation = std::move(std::get<Invocation>(result));
  }
  return outcome;
}

// An empty directory to stand in, gone at the end.
class Folder {
 public:
  Folder() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "lineward-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    std::filesystem::current_path(path_);
  }
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path before_, path_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a bare call shows three examples and the commands") {
  Outcome outcome = call({});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK(has(outcome.err, "lineward run -- npx -y @modelcontextprotocol/server-everything\n"));
  auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  CHECK((lines >= 10 && lines <= 24));  // a terminal that is small
}

TEST_CASE("version") {
  CHECK(call({"version"}).out == "lineward 1.2.3\n");
  CHECK(call({"--version"}).out == "lineward 1.2.3\n");
  CHECK(call({"-V"}).exit_code == 0);
  CHECK(call({"version", "--format", "json"}).out == "{\"name\":\"lineward\",\"version\":\"1.2.3\"}\n");
  CHECK(call({"version", "--format", "xml"}).exit_code == 2);
}

TEST_CASE("help, with examples, on stdout") {
  for (const char* command : {"run", "validate", "version", "help"}) {
    INFO(command);
    Outcome outcome = call({command, "--help"});
    CHECK(outcome.exit_code == 0);
    CHECK(has(outcome.out, "Usage: lineward"));
    CHECK(has(outcome.out, "Examples\n  lineward"));
    CHECK(outcome.err.empty());
    CHECK(call({"help", command}).out == outcome.out);
    CHECK(call({command, "-h"}).out == outcome.out);
  }
  CHECK(call({"help"}).out == call({"--help"}).out);
  CHECK(call({"help"}).exit_code == 0);
  CHECK(has(call({"help", "timeouts"}).out, "maxDuration"));
  CHECK(call({"help", "nonsense"}).exit_code == 2);
  CHECK(call({"options", "--format", "yaml"}).out == config::options_yaml());
  CHECK(call({"options", "--format", "xml"}).exit_code == 2);
}

TEST_CASE("a server on the command line") {
  Outcome outcome = call({"run",
                          "-l",
                          "[::1]:9000",
                          "--path",
                          "/m",
                          "--timeout",
                          "2m",
                          "--max-duration",
                          "1h",
                          "-e",
                          "A=1=2",
                          "-e",
                          "B",
                          "--cwd",
                          "/tmp",
                          "--ops",
                          "off",
                          "--admin",
                          "off",
                          "--exit-with-upstream",
                          "--exit-with-parent",
                          "--log-format",
                          "json",
                          "--isolation",
                          "call",
                          "--protocol-era",
                          "legacy",
                          "-v",
                          "--",
                          "npx",
                          "-y",
                          "server-everything",
                          "--help",
                          "--",
                          "-l"},
                         {{"B", "from outside"}});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == -1);
  const Invocation& run = outcome.invocation;
  CHECK(run.command == Invocation::Command::run);
  CHECK(run.config_file.empty());
  CHECK((run.exit_with_parent && run.exit_with_upstream));
  CHECK(run.config.listen.address == "[::1]:9000");
  CHECK(run.config.listen.path == "/m");
  CHECK(
      (run.config.log.format == config::LogFormat::json && run.config.log.level == config::LogLevel::debug));
  REQUIRE(run.config.servers.size() == 1);
  const config::Server& server = run.config.servers[0];
  CHECK(server.name == "everything");
  CHECK(server.command == "npx");
  CHECK(server.args == std::vector<std::string>{"-y", "server-everything", "--help", "--", "-l"});
  CHECK(server.env == std::vector<std::pair<std::string, std::string>>{{"A", "1=2"}, {"B", "from outside"}});
  CHECK(server.cwd == "/tmp");
  CHECK((server.timeouts.request == 2min && server.timeouts.max_duration == 1h));
  CHECK((server.isolation == config::Isolation::call && server.protocol_era == config::Era::legacy));
  CHECK(outcome.err.empty());
  CHECK(call({"run", "--name", "n", "--", "x"}).invocation.config.servers.at(0).name == "n");
  CHECK(call({"--", "x"}).exit_code == -1);
}

TEST_CASE("lineward stdio --start is the option of each server") {
  const Outcome outcome = call({"stdio", "--start", "onUse", "--", "npx", "-y", "slow"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == -1);
  CHECK(outcome.invocation.config.servers.at(0).start == config::ServerStart::on_use);
  CHECK(call({"stdio", "--", "x"}).invocation.config.servers.at(0).start == config::ServerStart::boot);
  CHECK(call({"stdio", "--start", "never", "--", "x"}).exit_code == 2);
}

TEST_CASE("bad command lines end with 2 and a way on") {
  std::vector<std::vector<const char*>> cases = {
      {"statsu"},
      {"gateway.yaml"},
      {"run", "--tiemout", "3s", "--", "x"},
      {"run", "a.yaml", "b.yaml"},
      {"run", "--listen", "8000", "--", "x"},
      {"run", "--timeout", "30", "--", "x"},
      {"run", "--timeout"},
      {"run", "--log-level", "loud", "--", "x"},
      {"run", "--isolation", "none", "--", "x"},
      {"run", "--ops", "9464", "--", "x"},
      {"run", "--admin", "8001", "--", "x"},
      {"run", "--name", "a b", "--", "x"},
      {"run", "-e", "=x", "--", "x"},
      {"run", "-e", "NOT_SET_HERE", "--", "x"},
      {"run", "-e", "A=1", "x.yaml"},
      {"run", "--color", "pink", "--", "x"},
      {"run", "--"},
      {"run", "--", ""},
      {"run", "--config", "a", "b"},
      {"run", "--port", "x", "--", "x"},
      {"run", "--port", "1", "--listen", ":2", "--", "x"},
      {"run", "--stdio", "a 'b"},
      {"run", "--stdio", "a", "--", "b"},
      {"run", "--outputTransport", "ws", "--", "x"},
      {"validate", "--strcit"},
      {"validate", "--", "x"},
  };
  for (const auto& words : cases) {
    INFO(words[0] << " " << (words.size() > 1 ? words[1] : ""));
    Outcome outcome = call(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(has(outcome.err, "error: "));
    CHECK(has(outcome.err, "help: lineward"));
    CHECK(outcome.out.empty());
  }
  CHECK(has(call({"run", "--tiemout", "3s"}).err, "did you mean '--timeout'?"));
  CHECK(has(call({"validat"}).err, "did you mean 'validate'?"));
  CHECK(has(call({"run", "--timeout", "30", "--", "x"}).err, "write 30s or 30ms"));
  CHECK(has(call({"gateway.yaml"}).err, "lineward run gateway.yaml"));
}

// The Inspector's command line swallows the first --.
TEST_CASE("lineward stdio takes a command without -- when it can be meant") {
  Folder folder;
  std::filesystem::create_directory(folder.path("bin"));
  auto program = [&](const std::string& name) {
    folder.write(name, "#!/bin/sh\n");
    std::filesystem::permissions(folder.path(name), std::filesystem::perms::owner_all);
  };
  program("bin/node");
  program("server.sh");
  const Environment path = {{"PATH", "/nowhere::" + folder.path("bin")}};
  auto server = [&](std::vector<const char*> words) {
    words.insert(words.begin(), "stdio");
    Outcome outcome = call(words, path);
    INFO(outcome.err);
    if (outcome.exit_code != -1) return "exit " + std::to_string(outcome.exit_code);
    const config::Server& one = outcome.invocation.config.servers.at(0);
    std::string said = one.command.empty() ? one.url : one.command;
    for (const std::string& word : one.args)
      said += "|" + word;
    return said;
  };
  CHECK(server({"node", "server.js", "--port", "1"}) == "node|server.js|--port|1");
  CHECK(server({"node"}) == "node");
  CHECK(server({"--timeout", "30s", "-e", "A=1", "-q", "--name=x", "node", "-e", "code"}) == "node|-e|code");
  CHECK(server({"./server.sh", "--help"}) == "./server.sh|--help");
  CHECK(server({folder.path("bin/node").c_str(), "x"}) == folder.path("bin/node") + "|x");
  CHECK(server({"node", "x", "--", "y"}) == "node|x|--|y");
  CHECK(server({"--", "node", "x"}) == "node|x");
  CHECK(server({"http://127.0.0.1:1/mcp"}) == "http://127.0.0.1:1/mcp");

  // Files and URLs are what they were.
  const std::string file = R"({"mcpServers":{"a":{"command":"of-the-file"}}})";
  folder.write("mcp.json", file);
  CHECK(server({"mcp.json"}) == "of-the-file");
  std::filesystem::permissions(folder.path("mcp.json"), std::filesystem::perms::owner_all);
  CHECK(server({"./mcp.json"}) == "of-the-file");
  folder.write("node", file);
  CHECK(server({"node"}) == "of-the-file");
  CHECK(server({"node", "x"}) == "exit 2");
  std::filesystem::remove(folder.path("node"));
  CHECK(server({"http://127.0.0.1:1/mcp", "node"}) == "exit 2");
  CHECK(server({"missing", "x"}) == "exit 2");
  CHECK(has(call({"stdio", "missing", "x"}).err, "lineward stdio -- npx"));
  CHECK(call({"stdio", "node"}).exit_code != -1);  // no PATH
  CHECK(call({"run", "node", "x"}, path).exit_code == 2);
}

TEST_CASE("what was meant by a command line that is refused") {
  Folder folder;
  folder.write("npx", "");
  std::filesystem::permissions("npx", std::filesystem::perms::all);
  Environment path = {{"PATH", folder.path("")}};
  struct {
    std::vector<const char*> words;
    const char* said;
  } cases[] = {
      {{"npx", "-y", "x"}, "'npx' is no command of Lineward; to serve what it starts: lineward run -- npx …"},
      {{"https://me:s3cr3t@h/mcp?key=s3cr3t"}, "to serve it: lineward run --url https://h/mcp\n"},
      {{"run", "npx2", "-y", "x"},
       "'-y' is not an option of run; a server's command goes behind --: lineward run -- npx2 -y"},
      {{"run", "https://me:s3cr3t@h/mcp?key=s3cr3t"},
       "https://h/mcp is a URL, not a file: lineward run --url https://h/mcp\n"},
      {{"doctor", "http://h/mcp", "--url", "http://h/mcp"}, "the URL is given twice\n"},
      {{"doctor", "http://h/mcp", "--idle", "11m"}, "--idle: at most 10m\n"},
      {{"validate", "unix:/run/x"}, "is a URL, not a file; to look at a server: lineward doctor --url"},
      {{"stdio", "http://h/mcp", "--header", "A: s3cr3t", "--allow-http"},
       "'--allow-http' is not an option of stdio; it is not needed: http:// is taken\n"},
      {{"stdio", "http://h/mcp", "--header", "A: b", "--nothing"}, "'--nothing' is not an option of stdio\n"},
      {{"stdio", "http://h/mcp", "-H", "Authorization:", "s3cr3t"},
       "write -H 'Name: value', with the quotes\n"},
      {{"run", "--cors", "*", "--", "x"}, "'--cors' is not an option of run; write listen.allowedOrigins: "},
      {{"run", "--healthEndpoint=/h", "--", "x"}, "write /livez and /readyz on the ops address"},
      {{"run", "--listen", "8000", "--", "x"},
       "--listen 8000: did you mean 127.0.0.1:8000, or :8000 (every interface)?\n"},
      {{"run", "--outputTransport", "ws", "--", "x"}, "--outputTransport ws is not supported: "},
  };
  for (const auto& one : cases) {
    INFO(one.said);
    Outcome outcome = call(one.words, path);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(has(outcome.err, one.said));
    CHECK_FALSE(has(outcome.err, "s3cr3t"));
  }
  Outcome shell = call({"run", "--stdio", "a && b"});
  CHECK(has(shell.err, "warning: --stdio has what only a shell understands"));
  CHECK_FALSE(has(call({"run", "--stdio", "a 'b && c'"}).err, "warning"));
}

TEST_CASE("help on options, plugins and reasons") {
  const std::string auth = call({"help", "auth"}).out;
  for (const char* said :
       {"auth.anonymous   default false", "auth.resourceMetadata.resource", "auth.apiKey", "auth.jwt"})
    CHECK(has(auth, said));
  CHECK_FALSE(has(auth, "accessLog"));
  CHECK_FALSE(has(call({"help", "plugins"}).out, "auth.apiKey"));
  CHECK(has(call({"help", "plugins"}).out, "plugins: - rateLimit"));
  CHECK(has(call({"help", "options"}).out, "auth.anonymous"));
  CHECK(call({"help", "toolFilter"}).out.rfind("plugins: - toolFilter\n", 0) == 0);
  CHECK(call({"help", "isolation"}).out.rfind("mcpServers.NAME.isolation ", 0) == 0);
  CHECK(has(call({"help", "defaults"}).out, "mcpServers.NAME.timeouts.request"));
  // Both a command and a group of options.
  CHECK(has(call({"help", "audit"}).out, "Usage: lineward audit"));
  CHECK(has(call({"help", "audit"}).out, "\naudit.path"));
  const std::string page = call({"help", "timeout_request"}).out;
  CHECK(page.rfind("timeout_request\n", 0) == 0);
  CHECK(has(page, "The client gets: Error 504 with limitMs."));
  CHECK(page.find_first_of("`*#") == std::string::npos);
  Outcome none = call({"help", "timeout_reqest"});
  CHECK(none.exit_code == 2);
  CHECK(has(none.err, "did you mean 'timeout_request'?"));
  for (const char* said : {"  commands  run,", "  options   listen,", "  plugins   apiKey,", "  reasons   "})
    CHECK(has(none.err, said));
}

TEST_CASE("words of other gateways, each with one line of notice") {
  Outcome outcome = call({"--stdio", "npx -y \"a b\"", "--port", "9000", "--streamableHttpPath", "/x",
                          "--outputTransport", "streamableHttp", "--logLevel", "debug"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == -1);
  CHECK(outcome.invocation.config.servers.at(0).args == std::vector<std::string>{"-y", "a b"});
  CHECK(outcome.invocation.config.listen.address == "127.0.0.1:9000");
  CHECK(outcome.invocation.config.listen.path == "/x");
  CHECK(outcome.invocation.config.log.level == config::LogLevel::debug);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 5);
  CHECK(
      has(outcome.err, "note: --stdio is read as -- npx -y 'a b' (split by blanks and quotes; no shell)\n"));
  CHECK_FALSE(outcome.invocation.config.listen.legacy_sse);
  CHECK(call({"--stdio", "x", "--outputTransport", "sse"}).invocation.config.listen.legacy_sse);

  Folder folder;
  folder.write("mcp.json", "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}");
  for (const char* word : {"--mcp-config", "--named-server-config"}) {
    Outcome named = call({"run", word, "mcp.json"});
    REQUIRE(named.exit_code == -1);
    CHECK(named.invocation.config_file == "mcp.json");
    CHECK(has(named.err, "is read as --config mcp.json\n"));
  }
}

TEST_CASE("where the configuration comes from") {
  Folder folder;
  Outcome none = call({"run"}, {{"XDG_CONFIG_HOME", folder.path("xdg")}});
  CHECK(none.exit_code == 2);
  CHECK(
      has(none.err, "looked for ./lineward.yaml, " + folder.path("xdg") + "/lineward/lineward.yaml, /etc/"));
  std::filesystem::create_directories(folder.path("xdg/lineward"));
  folder.write("xdg/lineward/lineward.yaml", "");
  Environment xdg = {{"XDG_CONFIG_HOME", folder.path("xdg")}};
  CHECK(call({"run"}, xdg).invocation.config_file == folder.path("xdg/lineward/lineward.yaml"));
  folder.write("lineward.yaml", "listen: { path: /file }\n");
  CHECK(call({"run"}, xdg).invocation.config_file == "./lineward.yaml");
  folder.write("other.yaml", "");
  xdg["LINEWARD_CONFIG"] = "other.yaml";
  CHECK(call({"run"}, xdg).invocation.config_file == "other.yaml");
  CHECK(call({"--config", "lineward.yaml", "run"}, xdg).invocation.config_file == "lineward.yaml");
  CHECK(call({"run", "lineward.yaml"}, xdg).invocation.config_file == "lineward.yaml");
  CHECK(call({"run", "--", "x"}, xdg).invocation.config_file.empty());
  Outcome both = call({"run", "lineward.yaml", "--", "x"}, xdg);
  CHECK(both.invocation.config_file == "lineward.yaml");
  CHECK(both.invocation.config.listen.path == "/file");
  CHECK(both.invocation.config.servers.size() == 1);
}

TEST_CASE("run refuses a bad configuration with the whole report and 78") {
  Folder folder;
  folder.write("bad.yaml", "listen: { idleTimeout: 30 }\nx: 1\n");
  Outcome outcome = call({"run", "bad.yaml"});
  CHECK(outcome.exit_code == 78);
  CHECK(has(outcome.err, "error[no-unit]: 30 has no unit\n  --> bad.yaml:1:24\n"));
  CHECK(has(outcome.err, "bad.yaml: 2 errors\n"));
  CHECK(call({"run", "missing.yaml"}).exit_code == 78);
  CHECK(call({"run", "--", "x"}, {{"LINEWARD_LOG_LEVEL", "loud"}}).exit_code == 78);
  CHECK(has(call({"run", "bad.yaml", "--color", "always"}).err, "\x1b["));
  CHECK(has(call({"run", "bad.yaml"}, {{"CLICOLOR_FORCE", "1"}}).err, "\x1b["));
  CHECK_FALSE(has(call({"run", "bad.yaml"}, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}).err, "\x1b["));
}

TEST_CASE("validate") {
  Folder folder;
  folder.write("good.yaml", "mcpServers: { a: { command: x }, b: { command: y } }\n");
  folder.write("warn.yaml", "mcpServers: { a: { command: x y } }\n");
  folder.write("bad.yaml", "x: 1\n");
  CHECK(call({"validate", "good.yaml"}).out == "good.yaml: ok, 2 servers\n");
  CHECK(call({"-t", "good.yaml"}).exit_code == 0);
  CHECK(call({"-q", "validate", "good.yaml"}).out.empty());
  Outcome warned = call({"validate", "warn.yaml"});
  CHECK(warned.exit_code == 0);
  CHECK(warned.out == "warn.yaml: ok, 1 server\n");
  CHECK(has(warned.err, "warning[command-words]"));
  CHECK(call({"validate", "--strict", "warn.yaml"}).exit_code == 78);
  Outcome bad = call({"validate", "bad.yaml"});
  CHECK(bad.exit_code == 78);
  CHECK(has(bad.err, "bad.yaml: 1 error\n"));
  CHECK(bad.out.empty());
  if (geteuid() != 0) {
    std::filesystem::permissions(folder.path("good.yaml"), std::filesystem::perms::none);
    CHECK(call({"validate", "good.yaml"}).exit_code == 77);
  }
}

TEST_CASE("a server by its URL") {
  Environment environment = {{"TOKEN", "s3cret"}};
  Outcome outcome = call({"run", "--url", "https://mcp.example.com:8443/mcp", "-H",
                          "Authorization: Bearer ${env:TOKEN}", "-H", "X-A:  b c "},
                         environment);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == -1);
  const config::Server& server = outcome.invocation.config.servers.at(0);
  CHECK(server.name == "example");
  CHECK(server.url == "https://mcp.example.com:8443/mcp");
  CHECK(server.headers == decltype(server.headers){{"Authorization", "Bearer s3cret"}, {"X-A", "b c"}});
  CHECK(call({"run", "--url", "http://h/mcp", "--name", "n"}).invocation.config.servers.at(0).name == "n");

  Folder folder;
  folder.write("token", "from file\n");
  std::string header = "A: ${file:" + folder.path("token") + "}";
  outcome = call({"run", "--url", "http://h/mcp", "-H", header.c_str()});
  CHECK(outcome.invocation.config.servers.at(0).headers.at(0).second == "from file");
}

TEST_CASE("a variable that a flag takes for its server is kept from those of the file") {
  Folder folder;
  folder.write("i.yaml", "mcpServers: {s: {command: x, inheritEnv: true}}\n");
  const Environment environment{{"TOKEN", "s3cret"}};
  for (std::vector<const char*> flags :
       {std::vector<const char*>{"--url", "http://h/mcp", "-H", "Authorization: Bearer ${env:TOKEN}"},
        {"-e", "TOKEN", "--", "npx"}}) {
    flags.insert(flags.begin(), {"run", "--config", "i.yaml", "--name", "r"});
    Outcome outcome = call(flags, environment);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == -1);
    CHECK_FALSE(config::inherits(outcome.invocation.config.servers.at(0), "TOKEN"));
    CHECK(config::inherits(outcome.invocation.config.servers.at(0), "OTHER"));
    CHECK(outcome.invocation.config.servers.at(1).withheld_env.empty());
  }
  Outcome outcome = call(
      {"run", "--config", "i.yaml", "--name", "r", "-e", "TOKEN=${env:TOKEN}", "--", "npx"}, environment);
  CHECK(config::inherits(outcome.invocation.config.servers.at(0), "TOKEN"));  // no variable: what -e says
  CHECK(outcome.invocation.config.servers.at(1).env.at(0).second == "${env:TOKEN}");
}

TEST_CASE("a header's text is never shown") {
  for (const char* header : {"s3cret", ": s3cret", "a s3cret: s3cret", "A: s3cret\nB: c", "A: ${s3cret!}"}) {
    Outcome outcome = call({"run", "--url", "http://h/mcp", "-H", header});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(has(outcome.err, "-H"));
    CHECK_FALSE(has(outcome.err, "s3cret"));
  }
  for (std::vector<const char*> words : {std::vector<const char*>{"Authorization:", "Bearer", "s3cret"},
                                         {"X-Api-Key:", "s3cret"},
                                         {"X-Api-Key:", "s3cret", "--bogus=s3cret"}}) {
    words.insert(words.begin(), {"run", "--url", "http://h/mcp", "-H"});
    Outcome outcome = call(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(has(outcome.err, "s3cret"));
  }
}

TEST_CASE("one server on the command line") {
  for (std::vector<const char*> words : {std::vector<const char*>{"--url", "http://h", "--", "npx"},
                                         {"--url", "http://h", "-e", "A=b"},
                                         {"-H", "A: b", "--", "npx"},
                                         {"--url", "ftp://h"},
                                         {"--url", "http://u:p@h/"}}) {
    words.insert(words.begin(), "run");
    Outcome outcome = call(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
  }
}
