#include "protocol/mcp/input_required.h"

#include <fmt/format.h>

#include <map>

#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"

namespace lineward::mcp {
std::string input_request(const Message& question) {
  std::string params;
  if (question.is_object(Field::params))
    params = R"(,"params":)" + json::without_member(question.raw(Field::params), "elicitationId");
  return fmt::format(R"({{"method":{}{}}})", question.raw(Field::method), params);
}

std::string input_required_answer(std::string_view raw_id, const std::vector<InputQuestion>& requests,
                                  std::string_view state, std::string_view server_info) {
  std::string members;
  for (const InputQuestion& one : requests)
    members += fmt::format("{}{}:{}", members.empty() ? "" : ",", one.key, one.request);
  std::string rest;
  if (!state.empty()) rest += R"(,"requestState":)" + json::quote(state);
  if (!server_info.empty())
    rest += fmt::format(R"(,"_meta":{{"io.modelcontextprotocol/serverInfo":{}}})", server_info);
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","inputRequests":{{{}}}{}}}}})",
      raw_id, members, rest);
}

std::vector<InputQuestion> url_elicitations(const Message& error) {
  std::vector<InputQuestion> out;
  auto list = json::member(error.raw(Field::error_data), "elicitations");
  if (!list) return out;
  json::Cursor cursor(*list);
  if (!cursor.at_array() || !cursor.enter_array()) return out;
  while (cursor.next_element()) {
    json::Span value;
    if (!cursor.at_object() || !cursor.skip(value)) return {};
    std::string_view params = value.in(*list);
    if (json::string_value(json::member(params, "mode")) != "url") continue;
    out.push_back({fmt::format(R"("url-{}")", out.size() + 1),
                   fmt::format(R"({{"method":"elicitation/create","params":{}}})",
                               json::without_member(params, "elicitationId"))});
  }
  return out;
}

std::string question_answer(std::string_view server_raw_id, std::string_view raw_result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", server_raw_id, raw_result);
}

std::string salient_params(const Message& request) {
  std::map<std::string, std::string> members;
  json::for_each_member(request.raw(Field::params), [&](const std::string& key, std::string_view value) {
    if (key != "_meta" && key != "inputResponses" && key != "requestState")
      members[key] = json::compact(value);
  });
  std::string out;
  for (const auto& [key, value] : members)
    out += json::quote(key) + ":" + value + ",";
  return out;
}

}  // namespace lineward::mcp
