// The exchanges of a worker that have not ended: by id, by call id, and by legacy session.
//
// Owned by the exchange table. It owns the exchanges from put() to take(), and only reads from them. Returned
// pointers are valid until the end of the turn: do not keep them.
//
// Errors: a missing exchange is null, or an empty list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/base/slot_map.h"
#include "proxy/core/exchange_api.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/session_calls.h"

namespace lineward::exchange {

class LiveExchanges {
 public:
  // This is worker number `worker` of `workers`: call ids are unique among all.
  void number_calls(size_t worker, size_t workers) {
    last_number_ = worker;
    step_ = workers;
  }

  // The names of an exchange, which its constructor needs. Each is put once.
  struct Name {
    core::ExchangeId id;
    uint64_t number = 0;  // increasing
    std::string call_id;
  };
  Name next_name();
  Exchange& put(const Name& name, std::unique_ptr<Exchange> exchange);
  // Its id is stale from here on; null if it is not here any more.
  std::unique_ptr<Exchange> take(Exchange& exchange);
  // Drops what is kept for the next call of this session, unless one is in flight.
  void session_over(const std::string& session);

  Exchange* find(core::ExchangeId id) const { return exchanges_.find(id); }
  Exchange* called(std::string_view call_id) const;
  // The exchanges of a session, oldest first.
  std::vector<Exchange*> of_session(const std::string& session) const;
  // The newest of them during which a server may send requests.
  Exchange* newest_to_ask(const std::string& session) const;
  // The newest of them with this id of its client (mcp::canonical_id).
  core::ExchangeId newest_of_client(const std::string& session, std::string_view canonical_id);

  size_t size() const { return exchanges_.size(); }
  // No exchange may end during the visit: use all() for that.
  template <class Visit>
  void for_each(Visit visit) const {
    exchanges_.for_each([&](core::ExchangeId, Exchange& exchange) { visit(exchange); });
  }
  std::vector<Exchange*> all() const;
  std::vector<Exchange*> listens() const;

 private:
  SlotMap<Exchange, core::ExchangeTag> exchanges_;
  std::unordered_map<std::string, SessionCalls> by_session_;
  uint64_t last_number_ = 0;
  uint64_t step_ = 1;
};

}  // namespace lineward::exchange
