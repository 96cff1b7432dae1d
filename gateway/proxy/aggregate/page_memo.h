// The last pages of servers' lists, with their items as clients saw them: a server that sends the same bytes
// again needs no second reading of them. Names may change their meaning in between, so a page is valid for
// one version of the names (NameMap::version). Bounded; small beside listen.maxBufferedBytes. A page is
// forgotten after some seconds without a request for it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/loop.h"
#include "proxy/aggregate/lists.h"
#include "proxy/aggregate/name_map.h"

namespace lineward::aggregate {

class PageMemo {
 public:
  PageMemo(net::Loop& loop, const config::Listen& limits) : limits_(limits), sweeper_(loop) {}

  // Callers with different credentials may see different pages of one list, and a list may have several.
  static constexpr size_t kMaxOfList = 4;
  static constexpr uint64_t kMaxBytes = 8u << 20;

  struct Page {
    std::string server;
    List list = List::tools;
    std::string raw;    // the server's array
    std::string items;  // for clients, separated by commas
    size_t count = 0;
    bool has_uris = false;            // some of its URIs may be changed too
    std::optional<uint64_t> version;  // of the names; empty: not to be kept
  };
  // Null: there is none with these bytes, or names have changed since.
  const Page* find(const NameMap& shown, const std::string& server, List list, std::string_view raw);
  // Drops the oldest pages for it.
  void keep(Page page);
  void forget(const std::string& server);
  // Forgets the pages that were not found since the last time.
  void sweep();

 private:
  struct Kept {
    Page page;
    MemoryCharge held{Held::servers};
    bool used = true;  // since the last sweep
  };
  using Pages = std::list<Kept>;
  uint64_t most() const;
  void drop(Pages::iterator one);

  const config::Listen& limits_;
  Pages pages_;  // most recently used first
  uint64_t bytes_ = 0;
  net::Timer sweeper_;
};

}  // namespace lineward::aggregate
