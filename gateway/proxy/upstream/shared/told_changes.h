// How often a server that all workers serve has told of a change, for each kind of list and for resources.
// A worker hears of a change by a listen of its own; results that other workers keep are older
// (2026-07-28 server/utilities/caching). Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "protocol/mcp/methods.h"

namespace lineward::upstream {

class ToldChanges {
 public:
  // Before any client is told of the change. `uri`: of the resource, for resources/read only; empty: of all.
  void told(mcp::Method method, const std::string& uri) {
    if (method == mcp::Method::resources_read && uri.empty()) {
      for (std::atomic<uint64_t>& one : of_resources_)
        one.fetch_add(1, std::memory_order_release);
    } else {
      at(method, uri).fetch_add(1, std::memory_order_release);
    }
  }
  // A result is up to date while this stays as it was when the server was asked. Resources share some counts.
  uint64_t count(mcp::Method method, const std::string& uri) {
    return at(method, uri).load(std::memory_order_acquire);
  }

 private:
  std::atomic<uint64_t>& at(mcp::Method method, const std::string& uri) {
    return method == mcp::Method::resources_read
               ? of_resources_[std::hash<std::string>{}(uri) % of_resources_.size()]
               : of_lists_[static_cast<size_t>(method) % of_lists_.size()];
  }

  std::array<std::atomic<uint64_t>, 64> of_resources_{};
  std::array<std::atomic<uint64_t>, 64> of_lists_{};
};

}  // namespace lineward::upstream
