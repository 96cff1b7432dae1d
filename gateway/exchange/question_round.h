// The questions that a legacy server has put to the modern client of one call and that are not answered yet
// (behaviour.md 9). They go to the client together, as the input requests of one result.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/upstream.h"
#include "mcp/input_required.h"
#include "mcp/message.h"

namespace lineward::exchange {

// Input-required results for one call that ask something new.
inline constexpr uint32_t kMaxRounds = 10;
// How often a client is shown one round again, which it has not answered whole: one by one is enough.
inline constexpr uint32_t kMaxRepeats = 64;
// Questions of one call that are open at once.
inline constexpr size_t kMaxOpenQuestions = 64;

class QuestionRound {
 public:
  // False: there are too many.
  bool add(const mcp::Message& question);
  // The server takes one back (notifications/cancelled).
  void withdraw(const mcp::Message& cancelled);
  // Hands the client's input responses (JSON text of an object, or nothing) to the server. Questions without
  // one stay open, responses without a question are ignored.
  void answer(std::string_view input_responses, core::Call& call);

  bool empty() const { return open_.empty(); }
  size_t size() const { return open_.size(); }
  // Some of them the client has not been shown.
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
    std::string canonical;  // as it compares with others
    std::string key;        // decoded
    std::string request;
    bool shown = false;
  };
  bool has_key(std::string_view key) const;

  std::vector<Question> open_;
  uint32_t made_keys_ = 0;
};

}  // namespace lineward::exchange
