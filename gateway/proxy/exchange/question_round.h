// The open requests of a legacy server to the modern client of one call (behaviour.md 9). They are sent to
// the client together, as the input requests of one result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/mcp/input_required.h"
#include "protocol/mcp/message.h"
#include "proxy/core/upstream.h"

namespace lineward::exchange {

// Maximum input-required results per call with new requests.
inline constexpr uint32_t kMaxRounds = 10;
// How often one round is repeated to a client that answered only a part: enough to answer one by one.
inline constexpr uint32_t kMaxRepeats = 64;
// Maximum open requests of one call.
inline constexpr size_t kMaxOpenQuestions = 64;

class QuestionRound {
 public:
  // False: too many.
  bool add(const mcp::Message& question);
  // The server cancels one (notifications/cancelled).
  void withdraw(const mcp::Message& cancelled);
  // Passes the client's input responses (JSON text of an object, or nothing) to the server. Requests without
  // a response stay open; responses without a request are ignored.
  void answer(std::string_view input_responses, core::Call& call);

  bool empty() const { return open_.empty(); }
  size_t size() const { return open_.size(); }
  // Some of them have not been sent to the client.
  bool has_new() const {
    return std::any_of(open_.begin(), open_.end(), [](const Question& one) { return !one.shown; });
  }
  void shown() {
    for (Question& one : open_)
      one.shown = true;
  }
  size_t bytes() const;
  std::vector<mcp::InputQuestion> requests() const;

 private:
  struct Question {
    std::string server_id;  // as the server wrote it
    std::string canonical;  // normalised for comparison
    std::string key;        // decoded
    std::string request;
    bool shown = false;
  };
  bool has_key(std::string_view key) const;

  std::vector<Question> open_;
  uint32_t made_keys_ = 0;
};

}  // namespace lineward::exchange
