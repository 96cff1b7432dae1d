#include "proxy/exchange/call_views.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace lineward::exchange {
namespace {

// A call that the query has not matched yet.
struct Candidate {
  uint64_t number = 0;
  Exchange* live = nullptr;  // exactly one of these two is set
  CallView* parked = nullptr;
};

bool wanted(const CallQuery& query, std::string_view upstream, std::string_view route,
            std::string_view method, std::chrono::milliseconds age, bool listen) {
  return is_of(query.upstream, upstream, route) && (query.method.empty() || query.method == method) &&
         age >= query.older && (listen || !query.listens_only);
}

}  // namespace

bool is_of(std::string_view asked, std::string_view upstream, std::string_view route) {
  return asked.empty() || asked == upstream || asked == route;
}

bool wants(const CallQuery& query, const CallView& call) {
  return wanted(query, call.upstream, call.route, call.method, call.age, !call.listens.empty());
}

uint64_t call_number(std::string_view call_id) {
  uint64_t number = 0;
  if (call_id.size() < 2 || call_id[0] != 'c') return 0;
  const char* end = call_id.data() + call_id.size();
  auto [stop, fault] = std::from_chars(call_id.data() + 1, end, number, 16);
  return fault == std::errc() && stop == end ? number : 0;
}

CallView CallViews::view_of(Exchange& exchange) const {
  CallView view = exchange.view();
  if (view.client_info.empty()) view.client_info = table_.sessions().client_info(view.session);
  return view;
}

CallPage CallViews::page(const CallQuery& query) const {
  std::vector<Candidate> all;
  std::vector<CallView> parked = table_.park_table().views();
  all.reserve(table_.live().size() + parked.size());
  table_.live().for_each([&](Exchange& exchange) {
    all.push_back({call_number(exchange.from().call_id), &exchange, nullptr});
  });
  for (CallView& one : parked)
    all.push_back({call_number(one.id), nullptr, &one});
  std::sort(all.begin(), all.end(),
            [](const Candidate& a, const Candidate& b) { return a.number < b.number; });
  CallPage out;
  std::map<std::string_view, size_t> queued;  // calls so far, by server
  for (const Candidate& one : all) {
    size_t ahead = 0;
    if (one.live != nullptr && one.live->is_queued()) ahead = queued[one.live->server_name()]++;
    const bool takes = one.live != nullptr
                           ? wanted(query, one.live->server_name(), one.live->route(),
                                    one.live->from().method_name, one.live->age(), one.live->is_listen())
                           : wants(query, *one.parked);
    if (!takes) continue;
    ++out.total;
    if (one.number <= query.after) continue;
    if (out.calls.size() == query.limit) {
      out.more = true;
      continue;
    }
    out.calls.push_back(one.live != nullptr ? view_of(*one.live) : std::move(*one.parked));
    CallView& shown = out.calls.back();
    shown.ahead = ahead;
    if (shown.client_info.empty()) shown.client_info = table_.sessions().client_info(shown.session);
  }
  return out;
}

std::optional<CallView> CallViews::find(std::string_view call_id) const {
  if (Exchange* live = table_.live().called(call_id)) {
    CallView view = view_of(*live);
    if (view.state == CallState::queued) {
      table_.live().for_each([&](Exchange& other) {
        if (call_number(other.from().call_id) < call_number(call_id) &&
            other.server_name() == live->server_name() && other.is_queued())
          ++view.ahead;
      });
    }
    return view;
  }
  for (CallView& parked : table_.park_table().views()) {
    if (parked.id == call_id) return std::move(parked);
  }
  return std::nullopt;
}

}  // namespace lineward::exchange
