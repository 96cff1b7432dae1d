// A legacy server's requests to the modern client of one call. They become the input requests of a result,
// the call is parked, and the client's retry continues it (behaviour.md 9).
//
// Owned by its exchange, which it calls into and may end; created for the first server request, or for a
// retry. Stops and is destroyed with the exchange.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/net/loop.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/park_table.h"
#include "proxy/exchange/question_round.h"

namespace lineward::exchange {

class ExchangeQuestions {
 public:
  explicit ExchangeQuestions(Exchange& exchange);
  ExchangeQuestions(const ExchangeQuestions&) = delete;
  ExchangeQuestions& operator=(const ExchangeQuestions&) = delete;

  // Whether the request of this exchange is a retry of a parked call.
  static bool is_retry(const Exchange& exchange);
  // Continues that call, or refuses the retry.
  void resume();
  static void refuse_retry(Exchange& exchange, std::string_view reason, std::string_view said);

  // Adds a request of the server; withdraws one that the server cancels.
  void ask(const mcp::Message& message);
  void withdraw(const mcp::Message& cancelled) { round_.withdraw(cancelled); }
  // No message of the server is held by a plugin any more.
  void all_heard() {
    if (!round_.empty()) settle();
  }
  // Turns the server's error −32042 into a result; false if that is impossible.
  static bool url_elicitation(Exchange& exchange, const mcp::Message& error);
  // The exchange ends.
  void stop() { settle_.stop(); }

 private:
  // `request` with the digest taken before plugins changed it.
  static AskedWith asked_with(const Exchange& exchange, const mcp::Message& request);
  void settle();
  void park();
  bool refused_at_aggregate(const mcp::Message& retry);

  Exchange& exchange_;
  QuestionRound round_;
  net::Timer settle_;       // starts with the first request of a round
  std::string asked_with_;  // of the parked call that this one continues (ParkedCall)
  uint32_t rounds_ = 0;     // input-required results of this call so far that had new requests
  uint32_t repeats_ = 0;    // those since the last of these, repeated for unanswered requests
};

}  // namespace lineward::exchange
