// The questions to one hook: ids, number in flight, time limits. Each caller gets exactly one outcome, unless
// it forgets its question.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/net/loop.h"
#include "plugins/hook/hook_transport.h"

namespace lineward::plugins {

class HookDispatcher final {
 public:
  struct Limits {
    std::chrono::milliseconds timeout{2000};
    size_t in_flight = 64;
    size_t queue = 256;
    size_t queue_bytes = 16 << 20;
  };
  // Either the JSON text of the answer, or the reason why there is none. Never called from inside ask().
  struct Outcome {
    bool answered = false;
    std::string_view text;
  };
  using Done = std::function<void(const Outcome&)>;

  struct Numbers {
    uint64_t answered = 0, timed_out = 0, exited = 0, full = 0, late = 0, rubbish = 0, untold = 0;
  };

  HookDispatcher(net::Loop& loop, Limits limits) : loop_(loop), limits_(limits) {}
  void use(std::unique_ptr<HookTransport> transport) { transport_ = std::move(transport); }

  // `members` follows the id: `,"event":…`, without the closing brace. Returns 0 if the question was not
  // sent; `why` has the reason.
  uint64_t ask(std::string members, Done done, std::string_view& why);
  void forget(uint64_t id);
  // Sends a message without an answer; dropped if there is no room.
  void tell(std::string members);

  const Numbers& numbers() const { return numbers_; }
  size_t in_flight() const { return in_flight_; }
  size_t queued() const { return queue_.size(); }
  uint64_t restarts() const { return transport_->restarts(); }

  // For the transport: the answer to this question, the JSON text of an object.
  void on_hook_answer(uint64_t id, std::string_view object);
  // The question failed.
  void on_hook_failed(uint64_t id, std::string_view why);
  // The process is gone: all its open questions failed.
  void on_hook_down(std::string_view why);
  // It accepts questions (again).
  void on_hook_ready() { send_on(); }
  void on_hook_rubbish() { ++numbers_.rubbish; }

 private:
  struct Question {
    Done done;
    std::unique_ptr<net::Timer> timer;
    bool sent = false;
  };
  void send_on();
  void send(uint64_t id, std::string members);
  void timed_out(uint64_t id);
  void finish(uint64_t id, const Outcome& outcome);

  net::Loop& loop_;
  Limits limits_;
  std::unique_ptr<HookTransport> transport_;
  uint64_t ids_ = 0;
  std::map<uint64_t, Question> open_;
  std::deque<std::pair<uint64_t, std::string>> queue_;
  size_t queue_bytes_ = 0;
  size_t in_flight_ = 0;
  int silent_ = 0;  // consecutive questions that timed out
  Numbers numbers_;
};

}  // namespace lineward::plugins
