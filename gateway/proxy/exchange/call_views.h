// Views of one worker's calls in flight: pages of them, and one by its call id. Create it where it is needed,
// on the worker's thread or while that thread is stopped; it keeps nothing.
//
// A page visits every call, and makes a view only for those on the page.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/exchange/call_log.h"
#include "proxy/exchange/exchange_table.h"

namespace lineward::exchange {

// The number in a call id, which orders calls by arrival; 0: not a call id.
uint64_t call_number(std::string_view call_id);

struct CallQuery {
  uint64_t after = 0;       // exclusive: the number of the call before the page
  size_t limit = SIZE_MAX;  // maximum count
  std::string upstream;     // this server, or this aggregate's path; empty: any
  std::string method;       // empty: any
  std::chrono::milliseconds older{0};
  bool listens_only = false;
};

// Whether a call matches `asked`: the name of a server, or the path of an aggregate; empty: any. `upstream`:
// the call's server. `route`: the aggregate's path by which it came; empty: the server's own path.
bool is_of(std::string_view asked, std::string_view upstream, std::string_view route);
// Also for an ended call; its age is its duration then.
bool wants(const CallQuery& query, const CallView& call);

struct CallPage {
  std::vector<CallView> calls;  // in the order of their arrival
  size_t total = 0;             // matching the query, on all pages
  bool more = false;
};

class CallViews {
 public:
  explicit CallViews(ExchangeTable& table) : table_(table) {}

  CallPage page(const CallQuery& query) const;
  std::optional<CallView> find(std::string_view call_id) const;

 private:
  CallView view_of(Exchange& exchange) const;

  ExchangeTable& table_;
};

}  // namespace lineward::exchange
