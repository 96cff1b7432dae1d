// Requests sent to the client on stdio that it has not answered: when its input ends, they get no answer.
//
// Owned by the StdioFront.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/message.h"

namespace lineward::client {

class ClientQuestions {
 public:
  // Notes an unsolicited line for the client. Returns the id of the request in it if the client can no longer
  // answer.
  std::optional<std::string> note(const std::string& line) {
    if (line.find("\"id\"") == std::string::npos) return std::nullopt;
    auto message = mcp::Message::parse(line, json::kDepthCeiling);
    if (!message || message->kind() != mcp::MessageKind::request) return std::nullopt;
    std::string raw_id(message->raw(mcp::Field::id));
    if (over_) return raw_id;
    if (ids_.size() < kMost) ids_.push_back(std::move(raw_id));
    return std::nullopt;
  }
  void answered(std::string_view raw_id) {
    if (ids_.empty()) return;
    const std::string id = mcp::canonical_id(raw_id);
    std::erase_if(ids_, [&](const std::string& one) { return mcp::canonical_id(one) == id; });
  }
  // The input has ended: returns the ids of the open requests.
  std::vector<std::string> end() {
    over_ = true;
    return std::exchange(ids_, {});
  }
  // The answer that the server gets instead.
  static std::optional<mcp::Message> refusal(std::string_view raw_id) {
    auto message = mcp::Message::parse(
        mcp::error_message(raw_id, mcp::kInternalError, "the client has ended its input and cannot answer"));
    return message ? std::optional(std::move(*message)) : std::nullopt;
  }

 private:
  static constexpr size_t kMost = 256;  // of one session, as in proxy/exchange/session_link.cc
  std::vector<std::string> ids_;        // JSON text
  bool over_ = false;
};

}  // namespace lineward::client
