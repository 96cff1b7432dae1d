#include "config/reader/report.h"

#include <catch2/catch.hpp>

#include "config/options/read_value.h"
#include "config/reader/secrets.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

TEST_CASE("a report as people read it") {
  LoadResult result = load("mcpServers:\n  git:\n    command: uvx\n    timeouts:\n      requestTimeout: 30\n",
                           {}, "lineward.yaml");
  CHECK(
      result.report(false) ==
      "error[unknown-option]: 'requestTimeout' is not an option here\n"
      "  --> lineward.yaml:5:7\n"
      "    5 |       requestTimeout: 30\n"
      "      |       ^^^^^^^^^^^^^^ did you mean 'request'?\n"
      "   note: agentgateway calls it requestTimeout; here it is timeouts.request (lineward help timeouts)\n"
      "error[no-unit]: 30 has no unit\n"
      "  --> lineward.yaml:5:23\n"
      "    5 |       requestTimeout: 30\n"
      "      |                       ^^ write 30s or 30ms\n"
      "   note: client files disagree: ms in Claude Code and Gemini CLI, seconds in Cline and Roo Code\n"
      "lineward.yaml: 2 errors\n");
}

TEST_CASE("the summary counts") {
  CHECK(summary_line({}, "a") == "a: ok");
  Diagnostic error, warning, info;
  warning.severity = Severity::warning;
  info.severity = Severity::info;
  CHECK(summary_line({error, warning, info}, "a") == "a: 1 error, 1 warning");
  CHECK(summary_line({error, error, warning, warning}, "a") == "a: 2 errors, 2 warnings");
  CHECK(summary_line({info}, "a") == "a: ok");
}

TEST_CASE("colour is optional") {
  LoadResult result = load("x: 1\n");
  CHECK(result.report(true).find("\x1b[1;31merror[unknown-option]\x1b[0m") != std::string::npos);
  CHECK(result.report(false).find('\x1b') == std::string::npos);
}

TEST_CASE("information is one line") {
  LoadResult result = load("inputs: []\n");
  CHECK(render_diagnostic(result.diagnostics.at(0), {"t.yaml", result.text, &result.secrets}, false) ==
        "info[ignored-option]: t.yaml:1:1: 'inputs' concerns the client only and is ignored\n");
}

TEST_CASE("secrets are masked and the caret stays right") {
  LoadResult result = load("mcpServers:\n  s: { env: { A: hunter2, B: \"hunter2 é\" }, comand: x }\n");
  CHECK(result.report(false).find("    2 |   s: { env: { A: •••, B: ••• }, comand: x }\n      |              "
                                  "                   ^^^^^^ did you") != std::string::npos);
}

TEST_CASE("no finding shows a secret, wherever it stands") {
  for (const char* text : {
           "mcpServers:\n  s:\n    command: x\n    env:\n      A: [hunter2]\n      B: \"${X hunter2}\"\n     "
           " C: $hunter2\n",
           "mcpServers:\n  s:\n    command: x\n    env: hunter2\n",
           "mcpServers:\n  s:\n    command: x\n    env: [A=hunter2]\n",
           "mcpServers:\n  s:\n    command: x\n    env: { A: |\n",
           "mcpServers:\n  s: { url: u, headers: { Authorization: Bearer hunter2 } }\n",
           "mcpServers:\n  s: { evn: { A: hunter2 } }\n",
           "mcpServers:\n  s: { environment: { A: hunter2 } }\n",
           "mcpServers:\n  s: { apiKey: hunter2 }\n",
           "mcpServers:\n  s:\n    env:\n      A: >\n        hunter2\n        hunter2\n      A: hunter2\n",
           "mcpServers:\n  s:\n    env:\n      A: hunter2\n\t  B: hunter2\n",
           "mcpServers:\n  s:\n    env:\n      A: \"hunter2\n",
           "mcpServers:\n  s:\n    env:\n      A: hunter2: hunter2\n",
           "mcpServers:\n  s:\n    \"env\" : { A: hunter2 ] }\n",
           "mcpServers: { s: { headers: { A: &a hunter2 } } }\n",
           "{ \"mcpServers\": { \"s\": { \"env\": {\n \"A\": \"hunter2}\",\n \"B\": \"hunter2\" \"x\" } } "
           "}\n",
           "mcpServers:\n  s: { command: x, env: { A: hunter2 }, env: { A: hunter2 } }\n",
           "api_token: hunter2\n",
       }) {
    INFO(text);
    LoadResult result = load(text);
    CHECK_FALSE(result.ok());
    INFO(result.report(false));
    CHECK(result.report(false).find("hunter2") == std::string::npos);
  }
}

TEST_CASE("names of secrets") {
  for (const char* name :
       {"env", "headers", "Env", "evn", "environment", "GITHUB_TOKEN", "api-key", "clientSecret"}) {
    INFO(name);
    CHECK(is_secret_key(name));
  }
  for (const char* name :
       {"command", "args", "cwd", "envFile", "inheritEnv", "timeouts", "headTimeout", "end-point"}) {
    INFO(name);
    CHECK_FALSE(is_secret_key(name));
  }
}

TEST_CASE("long lines are cut around the caret") {
  std::string text =
      "{ \"a\": \"" + std::string(5000, 'x') + "\", \"b\": 1, \"c\": \"" + std::string(5000, 'y') + "\" }";
  LoadResult result = load(text, {}, "a.json");
  REQUIRE(result.diagnostics.size() == 3);
  std::string shown = render_diagnostic(result.diagnostics[1], {"a.json", text, nullptr}, false);
  CHECK(shown.size() < 600);
  CHECK(shown.find("…xxx") != std::string::npos);
  CHECK(shown.find("\"b\": 1") != std::string::npos);
}

TEST_CASE("control characters do not reach the terminal") {
  LoadResult result = load("a\x1b[31m: 1\n");
  CHECK(result.report(false).find('\x1b') == std::string::npos);
  LoadResult escaped = load("\"a\\e[31m\": 1\n");
  CHECK(escaped.report(false).find('\x1b') == std::string::npos);
}

TEST_CASE("a report has an end") {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "x" + std::to_string(i) + ": 1\n";
  std::string report = load(text).report(false);
  CHECK(report.find("… and 400 more\n") != std::string::npos);
  CHECK(report.find("t.yaml: 500 errors\n") != std::string::npos);
}

TEST_CASE("nothing of a file or of what stands on the command line steers the terminal") {
  const std::string turned = "\u202eresu", c1 = "\u0085", escape = "\x1b]0;x\x07";
  LoadResult result =
      load("mcpServers:\n  git:\n    command: uvx\n    " + turned + c1 + ": 1\n", {}, "a" + escape + ".yaml");
  const std::string report = result.report(false);
  CHECK(report.find("?resu?") != std::string::npos);
  for (const std::string& hostile : {turned, c1, std::string("\x1b")})
    CHECK(report.find(hostile) == std::string::npos);
  CHECK(clip("a" + turned + escape) == "a?resu?]0;x?");
}
