// The texts and counters of one call for operators and metrics. Texts are kept only for display and cut to a
// bound. Decides nothing.
//
// A member of its exchange, created with it. The exchange passes in times, phases and names where they are
// needed. give_to() comes last: it moves the texts out.
//
// Errors: none. Texts that are too long are cut or omitted; a call that reached no server counts as refused.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/core/exchange_api.h"
#include "proxy/core/upstream.h"
#include "proxy/exchange/call_log.h"
#include "proxy/metrics/stats.h"

namespace lineward::exchange {

class CallRecord {
 public:
  using Listens = std::array<uint64_t, metrics::size_of<metrics::ListenType>>;

  // `read_at`: when its request was read, in nanoseconds; mostly 0 (Loop::read_at).
  CallRecord(mcp::Method method, const mcp::Message& request, uint64_t read_at);

  // Adds to this server's counters from here on.
  void count_for(metrics::UpstreamStats& stats) { stats_ = &stats; }
  metrics::UpstreamStats* stats() const { return stats_; }  // null before that
  metrics::UpstreamStats& stats_or(const std::string& upstream) const {
    return stats_ != nullptr ? *stats_ : metrics::upstream_stats(upstream);
  }

  // A message for the client before the answer: a progress notification, or a notification of a listen.
  void progressed(const mcp::Message& notification);
  void listen_told(mcp::Method method);
  // The names in a list of tools or prompts, by which calls are counted.
  void learn_names(mcp::Method list, const mcp::Message& answer);
  void failed(std::string_view text);
  // The request is sent to its server again.
  void repeated() { ++attempts_; }
  // Whether its server's request is its own or shared with another call; a shared one is counted once.
  void request_is(core::Coalesced coalesced) { coalesced_ = coalesced; }
  // The plugin that decided how the call ends, by its configured name.
  void judged(std::string_view policy) { policy_ = policy; }
  // The server has its request. `at_once`: in the turn of the loop in which it arrived, so without any wait.
  void written(std::chrono::milliseconds queued_for, bool at_once);
  struct End {
    mcp::Method method{};
    mcp::EndReason reason{};
    int code = 0;
    std::string_view revision;
    std::string_view target;
    std::chrono::milliseconds took{0};
    std::optional<std::chrono::milliseconds> at_server;  // nullopt: it was never sent
    uint64_t answer_read_at = 0;                         // 0: not the server's answer, or unknown
    metrics::TraceName trace;                            // if it is sampled
  };
  void ended(const End& end);

  uint64_t read_at() const { return read_at_; }
  const std::string& client_info() const { return client_info_; }
  const std::string& error_text() const { return error_text_; }
  const std::string& policy() const { return policy_; }        // empty: no plugin
  const std::string& arguments() const { return arguments_; }  // for the audit log, if it records them
  uint32_t attempts() const { return attempts_; }
  bool has_progress() const { return !progress_.empty(); }
  uint64_t events() const { return events_; }
  // Adds 1 for each notification type of this listen.
  void count_listens(Listens& sums) const;
  void show(CallView& view) const;
  // Sets the members that show() sets, and the error, in a reused slot.
  void give_to(EndedCall& ended);

 private:
  metrics::UpstreamStats* stats_ = nullptr;
  const uint64_t read_at_;
  std::string client_info_;  // JSON text of clientInfo
  std::string progress_;     // params of the last progress notification
  std::string listens_;      // for a listen: its filter
  std::string error_text_;   // of Lineward's own error
  std::string policy_;       // the plugin that decided how it ends
  std::string arguments_;    // as they are recorded
  uint64_t events_ = 0;      // sent to the client before the answer
  uint32_t attempts_ = 1;
  core::Coalesced coalesced_ = core::Coalesced::no;
};

}  // namespace lineward::exchange
