// The open requests of a legacy server during a call. When the call is over, or cancelled, they are refused:
// most servers would wait for a minute, and keep their process busy.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/message.h"

namespace lineward::upstream {

class OpenQuestions {
 public:
  bool empty() const { return ids_.empty(); }
  void asked(const mcp::Message& question) {
    const std::string_view raw = question.raw(mcp::Field::id);
    ids_.push_back({std::string(raw), mcp::canonical_id(raw)});
  }
  // Whether this notification names one of them.
  bool names_one(const mcp::Message& cancelled) const {
    const std::string_view raw_id = cancelled.raw(mcp::Field::params_request_id);
    return !raw_id.empty() && find(raw_id) != ids_.end();
  }
  void withdrawn(const mcp::Message& cancelled) { forget(cancelled.raw(mcp::Field::params_request_id)); }
  // `answer`: a whole response.
  void answered(const std::string& answer) {
    if (ids_.empty()) return;
    auto message = mcp::Message::parse(answer);
    if (message) forget(message->raw(mcp::Field::id));
  }
  // Returns refusals of all open requests, and forgets these.
  std::vector<std::string> refuse() {
    std::vector<std::string> out;
    for (const Id& id : ids_)
      out.push_back(mcp::error_message(id.raw, mcp::kInternalError, "the call it belongs to is over"));
    ids_.clear();
    return out;
  }

 private:
  void forget(std::string_view raw_id) {
    if (raw_id.empty()) return;
    auto found = find(raw_id);
    if (found != ids_.end()) ids_.erase(found);
  }
  struct Id {
    std::string raw;  // JSON text
    std::string canonical;
  };
  std::vector<Id>::const_iterator find(std::string_view raw_id) const {
    const std::string wanted = mcp::canonical_id(raw_id);
    return std::find_if(ids_.begin(), ids_.end(), [&](const Id& id) { return id.canonical == wanted; });
  }
  std::vector<Id> ids_;
};

}  // namespace lineward::upstream
