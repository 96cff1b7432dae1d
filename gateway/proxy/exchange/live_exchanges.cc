#include "proxy/exchange/live_exchanges.h"

#include <charconv>

#include "protocol/mcp/message.h"

namespace lineward::exchange {

LiveExchanges::Name LiveExchanges::next_name() {
  Name name{exchanges_.reserve(), last_number_ += step_, {}};
  char text[20] = "c";
  char* end = std::to_chars(text + 1, text + sizeof text, name.number, 16).ptr;
  name.call_id.assign(text + 0, end);
  return name;
}

Exchange& LiveExchanges::put(const Name& name, std::unique_ptr<Exchange> exchange) {
  Exchange& put = exchanges_.put(name.id, std::move(exchange));
  if (const std::string& session = put.from().session; !session.empty()) {
    put.number = name.number;
    by_session_[session].add(name.number, name.id);
  }
  return put;
}

// The session's entry is kept: its next call is likely to need it.
std::unique_ptr<Exchange> LiveExchanges::take(Exchange& exchange) {
  std::unique_ptr<Exchange> out = exchanges_.take(exchange.id());
  if (!out || exchange.from().session.empty()) return out;
  auto calls = by_session_.find(exchange.from().session);
  if (calls != by_session_.end()) calls->second.remove(exchange.number);
  return out;
}

void LiveExchanges::session_over(const std::string& session) {
  auto calls = by_session_.find(session);
  if (calls != by_session_.end() && calls->second.empty()) by_session_.erase(calls);
}

Exchange* LiveExchanges::called(std::string_view call_id) const {
  Exchange* out = nullptr;
  for_each([&](Exchange& exchange) {
    if (exchange.from().call_id == call_id) out = &exchange;
  });
  return out;
}

std::vector<Exchange*> LiveExchanges::of_session(const std::string& session) const {
  std::vector<Exchange*> out;
  auto calls = by_session_.find(session);
  if (calls == by_session_.end()) return out;
  out.reserve(calls->second.size());
  calls->second.for_each([&](core::ExchangeId id) {
    if (Exchange* exchange = exchanges_.find(id)) out.push_back(exchange);
  });
  return out;
}

Exchange* LiveExchanges::newest_to_ask(const std::string& session) const {
  Exchange* out = nullptr;
  auto calls = by_session_.find(session);
  if (calls == by_session_.end()) return out;
  calls->second.from_newest([&](core::ExchangeId id) {
    Exchange* exchange = exchanges_.find(id);
    if (exchange != nullptr && exchange->may_have_asked()) out = exchange;
    return out != nullptr;
  });
  return out;
}

core::ExchangeId LiveExchanges::newest_of_client(const std::string& session, std::string_view canonical_id) {
  auto calls = by_session_.find(session);
  if (calls == by_session_.end()) return {};
  return calls->second.newest(canonical_id, [&](core::ExchangeId id) {
    const Exchange* exchange = exchanges_.find(id);
    return exchange != nullptr ? mcp::canonical_id(exchange->from().raw_id) : std::string();
  });
}

std::vector<Exchange*> LiveExchanges::all() const {
  std::vector<Exchange*> out;
  for_each([&](Exchange& exchange) { out.push_back(&exchange); });
  return out;
}

std::vector<Exchange*> LiveExchanges::listens() const {
  std::vector<Exchange*> out;
  for_each([&](Exchange& exchange) {
    if (exchange.is_listen()) out.push_back(&exchange);
  });
  return out;
}

}  // namespace lineward::exchange
