// The calls in flight of one worker as people see them: pages of them, and one by its name. Made where it is
// needed, on the worker's thread or while that one stands still; keeps nothing.
//
// A page costs a look at every call, and a view only for what is on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/call_log.h"
#include "exchange/exchange_table.h"

namespace lineward::exchange {

// The number in a call's name, by which calls are in the order of their arrival; 0: it is none.
uint64_t call_number(std::string_view call_id);

struct CallQuery {
  uint64_t after = 0;       // behind the call of this number
  size_t limit = SIZE_MAX;  // at most so many
  std::string upstream;     // by this server, or by this path of several; empty: any
  std::string method;       // empty: any
  std::chrono::milliseconds older{0};
  bool listens_only = false;
};

// Whether one by this server, which came by this route (empty: by the server's own path), is one of those
// asked for by the name of a server or by that of a path of several; empty: by any.
bool is_of(std::string_view asked, std::string_view upstream, std::string_view route);
// Of one that has ended too; its age is how long it took then.
bool wants(const CallQuery& query, const CallView& call);

struct CallPage {
  std::vector<CallView> calls;  // in the order of their arrival
  size_t total = 0;             // of the query, on all pages
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
