// The exchanges of a worker that have not ended: by their ids, by the names that people see, and by the
// legacy session that they belong to.
//
// Owned by the exchange table. It owns the exchanges from put() to take(), and calls nothing on them but what
// looks at them. Pointers that it gives are good until the turn of the loop is over: nobody keeps one.
//
// Errors: what is not here is null, or an empty list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/slot_map.h"
#include "core/exchange_api.h"
#include "exchange/exchange.h"
#include "exchange/session_calls.h"

namespace lineward::exchange {

class LiveExchanges {
 public:
  // This is the `worker`th of so many: no two give a call the same name.
  void number_calls(size_t worker, size_t workers) {
    last_number_ = worker;
    step_ = workers;
  }

  // What an exchange is called, which it has to know from its birth. Each is put once.
  struct Name {
    core::ExchangeId id;
    uint64_t number = 0;  // grows from one to the next
    std::string call_id;
  };
  Name next_name();
  Exchange& put(const Name& name, std::unique_ptr<Exchange> exchange);
  // Its id is stale from here on; null when it is not here any more.
  std::unique_ptr<Exchange> take(Exchange& exchange);
  // What is kept for the next call of this session goes, unless one is under way.
  void session_over(const std::string& session);

  Exchange* find(core::ExchangeId id) const { return exchanges_.find(id); }
  Exchange* called(std::string_view call_id) const;
  // Those of a session that are under way, oldest first.
  std::vector<Exchange*> of_session(const std::string& session) const;
  // The newest of them during which a server may ask.
  Exchange* newest_to_ask(const std::string& session) const;
  // The newest of them whose client gave it this id (mcp::canonical_id).
  core::ExchangeId newest_of_client(const std::string& session, std::string_view canonical_id);

  size_t size() const { return exchanges_.size(); }
  // No exchange may end while they are visited: for what ends some of them there is all().
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
