// 2026-07-28 "Multi Round-Trip Requests": a legacy server's questions as the input requests of a result, and
// the client's input responses as the server's answers. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/message.h"

namespace lineward::mcp {

struct InputQuestion {
  std::string key;      // a JSON string, with its quotes
  std::string request;  // {"method":…,"params":…}
};

// A server's question as an input request. The `elicitationId` of the old URL mode is cut.
std::string input_request(const Message& question);

// The whole answer to the client. `state` may be empty: the retry is a new call then. `server_info` is JSON
// text and may be empty.
std::string input_required_answer(std::string_view raw_id, const std::vector<InputQuestion>& requests,
                                  std::string_view state, std::string_view server_info);

// A legacy error −32042 as the input requests it stands for; nothing when it names none that can be asked.
std::vector<InputQuestion> url_elicitations(const Message& error);

// The answer to a server's question, under its own id.
std::string question_answer(std::string_view server_raw_id, std::string_view raw_result);

// What of a request's params a retry must repeat: all members but `_meta`, `inputResponses` and
// `requestState`, sorted, without white space.
std::string salient_params(const Message& request);

}  // namespace lineward::mcp
