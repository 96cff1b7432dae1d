// The cost of reading one message, against parsing it into a tree and writing it again.
//   g++ -std=c++20 -O2 -Igateway benchmarks/json_bench.cc gateway/foundation/base/json_*.cc
//   gateway/protocol/mcp/message.cc -o json_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "foundation/json/json_scan.h"
#include "protocol/mcp/message.h"

namespace {

using lineward::mcp::Field;
using lineward::mcp::Message;

uint64_t used = 0;  // keeps the work from being optimised away

std::string call_message() {
  return R"({"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"},"_meta":)"
         R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})";
}

std::string result_message() {
  std::string text = R"({"jsonrpc":"2.0","id":17,"result":{"content":[)";
  for (int i = 0; i < 12; ++i) {
    if (i > 0) text += ',';
    text += R"({"type":"text","text":"The quick brown fox jumps over the lazy dog.\nAgain: )" +
            std::to_string(i) +
            R"(, and then some more words to fill a line.","annotations":{"priority":0.5}})";
  }
  return text + R"(],"isError":false}})";
}

std::string base64_message() {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text =
      R"({"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"image","mimeType":"image/png","data":")";
  for (uint32_t i = 0, x = 1; i < 1024 * 1024; ++i, x = x * 1664525 + 1013904223)
    text += kAlphabet[x >> 26];
  return text + R"("}]}})";
}

std::string tools_message() {
  std::string text = R"({"jsonrpc":"2.0","id":17,"result":{"tools":[)";
  for (int i = 0; i < 200; ++i) {
    if (i > 0) text += ',';
    text +=
        R"({"name":"tool_)" + std::to_string(i) +
        R"(","description":"Looks up something in a table and gives back what was found there, or an error if )"
        R"(there was nothing. Takes the usual options and a few that are its own.","inputSchema":{"type":"object",)"
        R"("properties":{)";
    for (int j = 0; j < 6; ++j) {
      text += R"("option_)" + std::to_string(j) +
              R"(":{"type":"string","description":"What this option does, in a few words","maxLength":255},)";
    }
    text += R"("limit":{"type":"integer","minimum":1}},"required":["option_0"]}})";
  }
  return text + "]}}";
}

// The best of several rounds, in nanoseconds for one run.
template <class F>
double measure(size_t bytes, F run) {
  using Clock = std::chrono::steady_clock;
  const size_t runs = std::max<size_t>(3, 20'000'000 / (bytes + 200));
  double best = 1e18;
  for (int round = 0; round < 7; ++round) {
    const auto start = Clock::now();
    for (size_t i = 0; i < runs; ++i)
      used += run();
    const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
    best = std::min(best, spent.count() / static_cast<double>(runs));
  }
  return best;
}

void report(const char* name, const std::string& text) {
  const auto rate = [&text](double ns) { return static_cast<double>(text.size()) / ns * 1000; };
  if (!Message::parse(text)) {
    std::printf("%s: does not parse\n", name);
    return;
  }
  const double scan =
      measure(text.size(), [&] { return lineward::json::validate(text) == lineward::json::Fault::none; });
  // Moves the bytes in and out again, as the gateway does.
  std::string bytes = text;
  const double parse = measure(text.size(), [&] {
    auto message = Message::parse(std::move(bytes));
    const uint64_t at = message->at(Field::id).begin;
    bytes = std::move(*message).take_bytes();
    return at;
  });
  const double splice = measure(text.size(), [&] {
    auto message = Message::parse(std::move(bytes));
    auto edit = message->splice();
    edit.replace(message->at(Field::id), "123456");
    const uint64_t size = edit.apply().size();
    bytes = std::move(*message).take_bytes();
    return size;
  });
  const double tree = measure(text.size() * 20, [&] { return nlohmann::json::parse(text).dump().size(); });
  std::printf(
      "%-16s %8zu B  validate %10.0f ns %7.0f MB/s  message %10.0f ns %7.0f MB/s  +splice %10.0f ns  tree "
      "%11.0f ns  x%.0f\n",
      name, text.size(), scan, rate(scan), parse, rate(parse), splice, tree, tree / parse);
}

}  // namespace

int main() {
  report("call", call_message());
  report("result", result_message());
  report("base64", base64_message());
  report("200 tools", tools_message());
  return used == 0;
}
