#include "operate/mcp_client/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/json/json_document.h"
#include "protocol/mcp/revision.h"

namespace lineward::mcp_client {
namespace {

using nlohmann::json;

constexpr const char* kToken = "call";

std::string text_of(const json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

Answer lost(std::string why) {
  Answer answer;
  answer.why = std::move(why);
  return answer;
}

}  // namespace

Answer Client::ask(const std::string& method, json params, const Watch& watch) {
  json meta{{"io.modelcontextprotocol/protocolVersion", mcp::kNewestModern},
            {"io.modelcontextprotocol/clientInfo", self_},
            {"io.modelcontextprotocol/clientCapabilities", capabilities_}};
  if (watch.progress) meta["progressToken"] = kToken;
  params["_meta"] = std::move(meta);
  const json request{{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}};
  if (auto sent = link_.send(text_of(request)); !sent) return lost(sent.error().text);
  return go_on(watch);
}

Answer Client::go_on(const Watch& watch) {
  auto tick = Clock::now() + kTick;
  for (;;) {
    std::string line;
    switch (link_.next(line, watch.tick ? std::optional(tick) : std::nullopt)) {
      case LineLink::Came::line: break;
      case LineLink::Came::timeout:
        watch.tick();
        tick = Clock::now() + kTick;
        continue;
      case LineLink::Came::end: return lost("the gateway in front of the server ended");
      case LineLink::Came::too_long:
        return lost(fmt::format("the answer is larger than {} MiB", LineLink::kMaxLine >> 20));
      case LineLink::Came::interrupt: {
        Answer answer;
        answer.kind = Answer::Kind::interrupted;
        return answer;
      }
    }
    json message = lineward::json::parse_document(line);
    if (!message.is_object()) return lost("the answer is no JSON in UTF-8");
    if (message.value("method", json()) == "notifications/progress" && watch.progress) {
      if (const auto params = message.find("params"); params != message.end() && params->is_object())
        watch.progress(*params);
      continue;
    }
    if (message.contains("method") || message.value("id", json()) != id_) continue;
    Answer answer;
    for (auto [key, kind] : {std::pair("result", Answer::Kind::result), {"error", Answer::Kind::error}}) {
      auto found = message.find(key);
      if (found == message.end() || !found->is_object()) continue;
      answer.kind = kind;
      answer.body = std::move(*found);
      return answer;
    }
    return lost("the answer has neither a result nor an error");
  }
}

void Client::cancel(const std::string& reason) {
  const json told{{"jsonrpc", "2.0"},
                  {"method", "notifications/cancelled"},
                  {"params", {{"requestId", id_}, {"reason", reason}}}};
  (void)link_.send(text_of(told));  // a gateway that is gone has cancelled everything
}

namespace {

std::string text_in(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void note_missing(const json& body, std::vector<MissingPart>& out) {
  auto meta = body.find("_meta");
  if (meta == body.end() || !meta->is_object()) return;
  auto parts = meta->find("io.lineward/missing");
  if (parts == meta->end() || !parts->is_array()) return;
  for (const json& part : *parts) {
    if (out.size() >= kMaxMissing) return;
    if (!part.is_object()) continue;
    MissingPart one{text_in(part, "server"), text_in(part, "text")};
    const bool told =
        std::any_of(out.begin(), out.end(), [&](const auto& each) { return each.server == one.server; });
    if (!one.server.empty() && !told) out.push_back(std::move(one));
  }
}

}  // namespace

ToolList list_tools(Client& client) {
  ToolList list;
  json params = json::object();
  // The limit ends the list of a server that returns pages forever.
  for (size_t page = 0; page <= kMaxTools; ++page) {
    list.failed = client.ask("tools/list", params);
    if (list.failed.kind != Answer::Kind::result) return list;
    json& body = list.failed.body;
    note_missing(body, list.missing);
    for (json& tool : body.value("tools", json::array())) {
      auto name = tool.is_object() ? tool.find("name") : tool.end();
      if (!tool.is_object() || name == tool.end() || !name->is_string()) continue;
      if (list.tools.size() == kMaxTools) {
        list.cut = true;
        return list;
      }
      list.tools.push_back(std::move(tool));
    }
    auto next = body.find("nextCursor");
    if (next == body.end() || !next->is_string()) return list;
    params = json{{"cursor", *next}};
  }
  list.cut = true;
  return list;
}

}  // namespace lineward::mcp_client
