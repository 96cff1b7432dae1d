// What people and metrics learn of one call: the texts that are kept only to be shown, cut to a bound, and
// the numbers that it adds to those of its server. Nothing here decides anything.
//
// A member of its exchange, made with it. What the exchange knows of its own course (times, phases, its
// names) is handed in where it is needed. give_to() comes last: it moves the texts out.
//
// Errors: none. Texts that are too long are left out or cut; a call that reached no server counts as refused.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/exchange_api.h"
#include "core/upstream.h"
#include "exchange/call_log.h"
#include "metrics/stats.h"

namespace lineward::exchange {

class CallRecord {
 public:
  using Listens = std::array<uint64_t, core::size_of<core::ListenType>>;

  // `read_at`: when its request was read, in nanoseconds; mostly 0 (Loop::read_at).
  CallRecord(mcp::Method method, const mcp::Message& request, uint64_t read_at);

  // The server whose numbers it adds to from here on.
  void count_for(core::UpstreamStats& stats) { stats_ = &stats; }
  core::UpstreamStats* stats() const { return stats_; }  // null before that
  core::UpstreamStats& stats_or(const std::string& upstream) const {
    return stats_ != nullptr ? *stats_ : core::upstream_stats(upstream);
  }

  // Something that goes to the client before the answer: a progress notification, what a listen tells.
  void progressed(const mcp::Message& notification);
  void listen_told(mcp::Method method);
  // The names in a list of tools or prompts, by which calls are counted.
  void learn_names(mcp::Method list, const mcp::Message& answer);
  void failed(std::string_view text);
  // Its server is asked once more.
  void repeated() { ++attempts_; }
  // The request that its server has is its own, or another call's: that is counted once.
  void request_is(core::Whose whose) { whose_ = whose; }
  // A plugin has decided how it ends, under its configured name.
  void judged(std::string_view policy) { policy_ = policy; }
  // The server has its request. `at_once`: in the turn of the loop in which it came, so that no wait is in
  // it.
  void written(std::chrono::milliseconds queued_for, bool at_once);
  struct End {
    mcp::Method method{};
    mcp::EndReason reason{};
    int code = 0;
    std::string_view revision;
    std::string_view target;
    std::chrono::milliseconds took{0};
    std::optional<std::chrono::milliseconds> at_server;  // nothing: it was never sent
    uint64_t answer_read_at = 0;                         // 0: it is not the server's, or nobody knows
    core::TraceName trace;                               // where it is in a sampled one
  };
  void ended(const End& end);

  uint64_t read_at() const { return read_at_; }
  const std::string& client_info() const { return client_info_; }
  const std::string& error_text() const { return error_text_; }
  const std::string& policy() const { return policy_; }        // empty: no plugin
  const std::string& arguments() const { return arguments_; }  // for the audit log, where they are wanted
  uint32_t attempts() const { return attempts_; }
  bool has_progress() const { return !progress_.empty(); }
  uint64_t events() const { return events_; }
  // Adds 1 where this listen listens.
  void count_listens(Listens& sums) const;
  void show(CallView& view) const;
  // Sets what show() does, and the error, in the place of a call that was there.
  void give_to(EndedCall& ended);

 private:
  core::UpstreamStats* stats_ = nullptr;
  const uint64_t read_at_;
  std::string client_info_;  // JSON text of clientInfo
  std::string progress_;     // params of the last progress notification
  std::string listens_;      // of a listen: its filter
  std::string error_text_;   // of our own error
  std::string policy_;       // the plugin that decided how it ends
  std::string arguments_;    // as they are recorded
  uint64_t events_ = 0;      // that went to the client before the answer
  uint32_t attempts_ = 1;
  core::Whose whose_ = core::Whose::own;
};

}  // namespace lineward::exchange
