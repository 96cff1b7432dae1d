// Calls that asked their client a question, by the state that the client returns: its retry belongs to the
// same trace.
//
// Each worker has one, owned by the plugin. Bounded; the oldest is dropped first.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "foundation/base/memory_charge.h"
#include "plugins/trace/trace_context.h"

namespace lineward::plugins {

class TraceRounds {
 public:
  static constexpr size_t kMost = 4096;
  struct Round {
    TraceContext context;  // span of the request that was answered with a question
    std::string state;     // tracestate
  };

  void keep(std::string_view request_state, Round round) {
    if (request_state.empty()) return;
    const size_t key = key_of(request_state);
    if (!rounds_.insert_or_assign(key, std::move(round)).second) return;
    order_.push_back(key);
    if (order_.size() > kMost) {
      rounds_.erase(order_.front());
      order_.pop_front();
    }
    held_.set(rounds_.size() * sizeof(Round));
  }
  // A state is valid for one retry, but a client may send that again: it stays.
  std::optional<Round> find(std::string_view request_state) const {
    if (request_state.empty() || rounds_.empty()) return std::nullopt;
    auto found = rounds_.find(key_of(request_state));
    return found == rounds_.end() ? std::nullopt : std::optional(found->second);
  }
  size_t size() const { return rounds_.size(); }

 private:
  // States may be long, and are secrets: only a digest is kept.
  static size_t key_of(std::string_view request_state) {
    return std::hash<std::string_view>{}(request_state);
  }

  std::unordered_map<size_t, Round> rounds_;
  std::deque<size_t> order_;
  MemoryCharge held_{Held::telemetry};
};

}  // namespace lineward::plugins
