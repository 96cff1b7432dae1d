#include "mcp_client.h"

#include <fmt/format.h>

#include "json_raw.h"

namespace lineward::wire {
namespace {

std::string token_member(const Word& word, const std::string& token) {
  return "\"progressToken\":" + (word.kind == Word::Kind::quoted ? json_quote(token) : token);
}

}  // namespace

std::string McpClient::id_text(const Command& command) const {
  const Word* word = command.option("id");
  if (!word) fail("-id is missing");
  auto text = expand(*word);
  return word->kind == Word::Kind::quoted ? json_quote(text) : text;
}

std::string McpClient::message(const std::string& id, const std::string& method,
                               const std::string& params) const {
  return std::string(R"({"jsonrpc":"2.0",)") + (id.empty() ? "" : "\"id\":" + id + ",") +
         "\"method\":" + json_quote(method) + (params.empty() ? "" : ",\"params\":" + params) + "}";
}

std::string McpClient::modern_params(const Command& command) const {
  auto params = one_line(arg(command, 1, "{}"));
  std::string members;
  if (!command.flag("no-meta")) {
    const std::string prefix = "\"io.modelcontextprotocol/";
    members = prefix + "protocolVersion\":" + json_quote(option(command, "version", "2026-07-28")) + "," +
              prefix + "clientInfo\":{\"name\":\"wire\",\"version\":\"1\"}," + prefix +
              "clientCapabilities\":" + one_line(option(command, "caps", "{}"));
  }
  auto add = [&](const std::string& text) { members += (members.empty() ? "" : ",") + text; };
  if (const Word* word = command.option("token")) add(token_member(*word, expand(*word)));
  if (command.flag("meta")) {
    auto object = one_line(option(command, "meta"));
    if (object.size() > 2 && object[0] == '{') add(object.substr(1, object.size() - 2));
  }
  return members.empty() ? params : splice_meta(params, members);
}

std::string McpClient::legacy_params(const Command& command) const {
  auto params = one_line(arg(command, 1, ""));
  if (const Word* word = command.option("token")) {
    params = splice_meta(params.empty() ? "{}" : params, token_member(*word, expand(*word)));
  }
  return params;
}

std::string McpClient::initialize_params(const Command& command) const {
  return fmt::format(
      R"({{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"wire","version":"1"}}}})",
      option(command, "version", "2025-11-25"), one_line(option(command, "caps", "{}")));
}

std::string McpClient::response(const Command& command) const {
  auto id = command.args[0].kind == Word::Kind::quoted ? json_quote(arg(command, 0)) : arg(command, 0);
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + one_line(arg(command, 1)) + "}";
}

}  // namespace lineward::wire
