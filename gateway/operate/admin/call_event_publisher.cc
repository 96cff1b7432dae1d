#include "operate/admin/call_event_publisher.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "operate/admin/control_json.h"
#include "operate/admin/redact_json.h"
#include "proxy/exchange/exchange.h"

namespace lineward::admin {
namespace {

using exchange::CallMoment;
using nlohmann::json;

std::string text_of(json body) {
  redact_json(body);
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string type_of(CallMoment moment, bool listen) {
  std::string out = listen ? "listen." : "call.";
  switch (moment) {
    case CallMoment::begin: return out + "begin";
    case CallMoment::phase: return out + "phase";
    case CallMoment::progress: return out + (listen ? "event" : "progress");
    case CallMoment::cancel: return out + "cancel";
    case CallMoment::end:
    case CallMoment::settled: break;  // ended(), settled()
  }
  return out;
}

}  // namespace

bool CallEventPublisher::has_room() {
  const auto now = loop_.now();
  if (now - second_ >= std::chrono::milliseconds(1000)) {
    second_ = now;
    in_second_ = 0;
    flush();
  }
  if (in_second_ < kPerSecond) {
    ++in_second_;
    return true;
  }
  ++skipped_;
  return false;
}

void CallEventPublisher::flush() {
  if (skipped_ > 0) ring_->skipped(EventGroup::calls, std::exchange(skipped_, 0));
}

void CallEventPublisher::on_event(const exchange::CallEvent& event) {
  if (event.exchange != nullptr) return in_flight(event.moment, *event.exchange);
  event.moment == CallMoment::end ? ended(*event.ended) : settled(*event.ended);
}

void CallEventPublisher::in_flight(CallMoment moment, const exchange::Exchange& exchange) {
  if (!ring_->wants(EventGroup::calls)) return;
  if (moment == CallMoment::progress) {
    auto [known, is_new] = progress_.try_emplace(exchange.from().call_id, loop_.now());
    if (!is_new) {
      if (loop_.now() - known->second < kProgressApart) return;
      known->second = loop_.now();
    }
    if (progress_.size() > kMaxProgress) progress_.clear();
  }
  if (!has_room()) return;
  const exchange::CallView view = exchange.view();
  ring_->publish(EventGroup::calls, type_of(moment, exchange.is_listen()), text_of(call_json(view)));
}

void CallEventPublisher::ended(const exchange::EndedCall& call) {
  if (!progress_.empty()) progress_.erase(call.call.id);
  if (!ring_->wants(EventGroup::calls) || !has_room()) return;
  const bool listen = !call.call.listens.empty() || call.call.method == "subscriptions/listen";
  ring_->publish(EventGroup::calls, listen ? "listen.end" : "call.end",
                 text_of(ended_json(call, loop_.now())));
}

void CallEventPublisher::settled(const exchange::EndedCall& call) {
  if (!ring_->wants(EventGroup::calls) || !has_room()) return;
  ring_->publish(EventGroup::calls, "call.settled", text_of(ended_json(call, loop_.now())));
}

}  // namespace lineward::admin
