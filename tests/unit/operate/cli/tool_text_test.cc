#include "operate/cli/tool_text.h"
#include "operate/cli/local_address.h"

#include <catch2/catch.hpp>

using namespace lineward::cli;
using nlohmann::json;
using namespace std::chrono_literals;

TEST_CASE("a tool is shown with its arguments, the required ones first, and its hints") {
  const json tools = json::parse(R"([{"name":"get","title":"Get","description":"\n Gets it.\nAnd more.",
    "annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true},
    "inputSchema":{"properties":{"a":{"type":"string","default":"x"},"path":{"type":"string","description":"Where"}},
                   "required":["path"]}}])");
  CHECK(tools_text(tools, {}) ==
        "get  Gets it.\n"
        "    path  string  required; Where\n"
        "    a     string  default \"x\"\n"
        "    reads only, may be repeated\n");
  Style narrow;
  narrow.width = 12;
  CHECK(tools_text(tools, narrow) == "get  Gets i…\n    path  s…\n    a     s…\n    reads o…\n");
}

TEST_CASE("what a server says of a tool stays on its line and steers nothing") {
  const json tools = json::parse(
      R"([{"name":"a\nb\u001b[2J","description":"x\u202ey","inputSchema":{"properties":{"p\n":{}}}},
    {"name":"","inputSchema":7,"annotations":[],"description":{}}])");
  const std::string text = tools_text(tools, {});
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find("\u202e") == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("a tool that is not there, and the one that was meant") {
  const json tools = json::parse(R"([{"name":"echo"},{"name":"sum"}])");
  CHECK(find_tool(tools, "echo") == &tools[0]);
  CHECK(find_tool(tools, "ech") == nullptr);
  CHECK(no_such_tool(tools, "ehco") == "there is no tool 'ehco'; did you mean 'echo'?");
  CHECK(no_such_tool(tools, "translate") == "there is no tool 'translate'");
}

TEST_CASE("progress as a bar, as a number, as nothing but time") {
  CHECK(progress_bar(json{{"progress", 61}, {"total", 100}, {"message", "index\033[2J"}}, 4200ms, 0) ==
        "[############--------] 61/100  index?[2J  4.2s");
  CHECK(progress_bar(json{{"progress", 3.5}}, 900ms, 0) == "3.5  0.9s");
  CHECK(progress_bar(json::object(), 65s, 0) == "1m05s");
  CHECK(progress_bar(json{{"progress", 9}, {"total", 3}}, 1s, 12) == "[##########…");
  CHECK(progress_bar(json{{"progress", -1}, {"total", 0}}, 1s, 0) == "-1  1.0s");
}

TEST_CASE("the meaning of an error for the caller") {
  auto fault = [](const char* reason) {
    return fault_of(json{
        {"code", 504},
        {"message", "no\nanswer"},
        {"data", {{"io.lineward/gateway", {{"reason", reason}, {"upstream", "up"}, {"callId", "c1"}}}}}});
  };
  CHECK(fault("timeout_request").exit == ExitCode::timed_out);
  CHECK(fault("timeout_request").message == "no?answer");
  CHECK(fault("timeout_request").server == "up");
  CHECK(fault("upstream_unreachable").exit == ExitCode::unavailable);
  CHECK(fault("unauthorized").fix.find("--token-file") != std::string::npos);
  CHECK(fault("something new").exit == ExitCode::failure);
  const ErrorReport own = fault_of(json{{"code", -32602}, {"message", 7}, {"data", {1, 2}}});
  CHECK(own.message == "error -32602 without a message");
  CHECK(own.reason.empty());
}

TEST_CASE("an address of every interface is one of this machine") {
  CHECK(reachable("http://0.0.0.0:8000/mcp") == "http://127.0.0.1:8000/mcp");
  CHECK(reachable("http://[::]:8000") == "http://127.0.0.1:8000");
  CHECK(reachable("http://127.0.0.1:8000/mcp") == "http://127.0.0.1:8000/mcp");
}

TEST_CASE("the parts of a result") {
  const ResultParts parts = parts_of(json::parse(R"({"isError":true,"content":[{"type":"text","text":"one"},
    {"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"a:b","blob":"AA"}},
    {"type":"resource","resource":{"uri":"a:b","text":"two\n"}},{"type":"new"},7]})"));
  CHECK(parts.is_error);
  CHECK(parts.text == "one\ntwo\n");
  CHECK(parts.attachments.size() == 2);
  CHECK(parts.notes.size() == 1);
  CHECK(parts_of(json::parse(R"({"content":7,"isError":"yes"})")).text.empty());
  CHECK(parts_of(json::parse(R"({"structuredContent":{"a":1}})")).text == "{\n  \"a\": 1\n}\n");
}

TEST_CASE("the servers with missing tools, in text that steers no terminal") {
  CHECK(missing_notes({}).empty());
  CHECK(missing_notes({{"git\x1b[2J", "did not answer\nin time"}, {"b", ""}}) ==
        "note: tools of git?[2J are missing: did not answer?in time\nnote: tools of b are missing\n");
}

TEST_CASE("names of files are ours") {
  CHECK(file_stem("../../etc/passwd") == "_._.._etc_passwd");
  CHECK(file_stem("") == "result");
  CHECK(file_stem(std::string(200, 'a')).size() == 60);
  CHECK(extension_of("image/png") == "png");
  CHECK(extension_of("image/../x") == "bin");
}
