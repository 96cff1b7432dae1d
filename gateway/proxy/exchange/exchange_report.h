// Reports on an exchange: views for operators, and log and metrics after its end. Decides and keeps nothing;
// create it where it is needed.
#pragma once

#include "proxy/exchange/call_log.h"
#include "proxy/exchange/exchange.h"

namespace lineward::exchange {

class ExchangeReport {
 public:
  explicit ExchangeReport(Exchange& exchange) : exchange_(exchange) {}

  // Its current state.
  CallView view() const;
  // The parts of view() that queries read for every call.
  bool is_queued() const { return !exchange_.acknowledged_ && exchange_.clock_.is_queued(); }
  std::chrono::milliseconds age() const { return exchange_.clock_.elapsed(); }
  // Report its end to the metrics, the log, the audit log and the call log. fill() moves the texts of the
  // record out, so call it once. It must set every member that is ever shown, since the slot holds another
  // call's values. On the hot path of every call.
  void count_end(mcp::EndReason reason, int code) const;
  void write_end(mcp::EndReason reason, int code) const;
  void record_end(mcp::EndReason reason, int code) const;
  void fill(EndedCall& ended, mcp::EndReason reason, int code) const;

 private:
  Exchange& exchange_;
};

}  // namespace lineward::exchange
