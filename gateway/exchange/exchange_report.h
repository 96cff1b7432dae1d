// What is told of an exchange: to people who look at it, and in the log and the metrics once it has ended.
// Decides nothing and keeps nothing; made where it is needed.
#pragma once

#include "exchange/call_log.h"
#include "exchange/exchange.h"

namespace lineward::exchange {

class ExchangeReport {
 public:
  explicit ExchangeReport(Exchange& exchange) : exchange_(exchange) {}

  // How it is now.
  CallView view() const;
  // Of that what is asked of every call to find some.
  bool is_queued() const { return !exchange_.acknowledged_ && exchange_.clock_.is_queued(); }
  std::chrono::milliseconds age() const { return exchange_.clock_.elapsed(); }
  // Its end: counted, written to the log, and kept for people. The last one moves the texts of its record
  // out, so it comes once; it sets every member that is ever shown, since the place holds another call's.
  // This is on the path of every call.
  void count_end(mcp::EndReason reason, int code) const;
  void write_end(mcp::EndReason reason, int code) const;
  void record_end(mcp::EndReason reason, int code) const;
  void fill(EndedCall& ended, mcp::EndReason reason, int code) const;

 private:
  Exchange& exchange_;
};

}  // namespace lineward::exchange
