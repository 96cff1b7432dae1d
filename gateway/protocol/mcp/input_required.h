// 2026-07-28 "Multi Round-Trip Requests": converts a legacy server's questions to input requests of a result,
// and the client's input responses to the answers. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/message.h"

namespace lineward::mcp {

struct InputQuestion {
  std::string key;      // a JSON string, with its quotes
  std::string request;  // {"method":…,"params":…}
};

// A server's question as an input request. The `elicitationId` of the legacy URL mode is removed.
std::string input_request(const Message& question);

// The whole answer to the client. If `state` is empty, the retry is a new call. `server_info` is JSON text
// and may be empty.
std::string input_required_answer(std::string_view raw_id, const std::vector<InputQuestion>& requests,
                                  std::string_view state, std::string_view server_info);

// The input requests equivalent to a legacy error −32042; empty when it contains no valid ones.
std::vector<InputQuestion> url_elicitations(const Message& error);

// The answer to a server's question, under its own id.
std::string question_answer(std::string_view server_raw_id, std::string_view raw_result);

// The params that a retry must repeat: all members but `_meta`, `inputResponses` and `requestState`, sorted,
// without white space.
std::string salient_params(const Message& request);

}  // namespace lineward::mcp
