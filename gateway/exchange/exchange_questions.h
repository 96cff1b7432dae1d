// What a legacy server asks the modern client of one call: its questions become the input requests of a
// result, the call is parked, and the client's retry goes on with it (behaviour.md 9).
//
// Owned by its exchange, which it calls into and may end; made when there is a question or a retry. It stops
// with the exchange, and dies with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exchange/exchange.h"
#include "exchange/park_table.h"
#include "exchange/question_round.h"
#include "net/loop.h"

namespace lineward::exchange {

class ExchangeQuestions {
 public:
  explicit ExchangeQuestions(Exchange& exchange);
  ExchangeQuestions(const ExchangeQuestions&) = delete;
  ExchangeQuestions& operator=(const ExchangeQuestions&) = delete;

  // Is the request of this exchange a retry of a call that waits for it?
  static bool is_retry(const Exchange& exchange);
  // Goes on with that call, or refuses the retry.
  void resume();
  static void refuse_retry(Exchange& exchange, std::string_view reason, std::string_view said);

  // A request of the server; one that it takes back.
  void ask(const mcp::Message& message);
  void withdraw(const mcp::Message& cancelled) { round_.withdraw(cancelled); }
  // Nothing that the server said is with a plugin any more.
  void all_heard() {
    if (!round_.empty()) settle();
  }
  // The server's error −32042 becomes a result; false when it cannot.
  static bool url_elicitation(Exchange& exchange, const mcp::Message& error);
  // The exchange ends.
  void stop() { settle_.stop(); }

 private:
  // `request` with what is known of it before plugins changed it.
  static AskedWith asked_with(const Exchange& exchange, const mcp::Message& request);
  void settle();
  void park();
  bool refused_at_aggregate(const mcp::Message& retry);

  Exchange& exchange_;
  QuestionRound round_;
  net::Timer settle_;       // runs from the first question of a round
  std::string asked_with_;  // of the call that this one goes on with (ParkedCall)
  uint32_t rounds_ = 0;     // input-required results of this call so far that asked something new
  uint32_t repeats_ = 0;    // those since the last of these, for what its client has not answered
};

}  // namespace lineward::exchange
