#include "upstream/http/http_farewells.h"

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "mcp/rewrite.h"
#include "upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using core::CancelOutcome;
using core::CancelTold;
using std::chrono::milliseconds;
using Way = LeftCall::Way;

// A legacy call's stream is closed when the server was told of the cancel, and in any case by then.
constexpr milliseconds kFarewell{100};

bool is_answer(const mcp::Message& message) {
  return message.kind() == mcp::MessageKind::result || message.kind() == mcp::MessageKind::error;
}

}  // namespace

class HttpFarewells::Farewell final : public MessagesOwner {
 public:
  Farewell(HttpFarewells& its_home, LeftCall its_call)
      : home(its_home),
        call(std::move(its_call)),
        since(home.loop_.now()),
        limit(home.loop_),
        grace(home.loop_) {
    if (call.messages) call.messages->set_owner(*this);
  }

  void on_message(HttpMessages& from, mcp::Message&& message) override {
    if (!is_answer(message)) return;
    auto id = message.has(mcp::Field::id) ? own_id(message.raw(mcp::Field::id)) : std::nullopt;
    if (id && *id != call.id) return from.distrust();
    heard(message);
  }
  void on_messages_end(HttpMessages&, const MessagesEnd&) override {
    home.loop_.retire(std::move(call.messages));
    if (told == CancelTold::not_sent) return;  // the end of the turn sees to it
    home.over(*this);
  }

  void heard(const mcp::Message& answer) {
    std::string params = call.may_be_task ? mcp::cancel_of_task(answer) : std::string();
    if (!params.empty()) home.home_.cancel_task(call.group, params);
    // One that waits to hear whether it is a task does not end with an answer that was on its way.
    const bool ends = told == CancelTold::not_sent || call.way == Way::keep || !params.empty();
    if (!ends) return;
    home.settle(*this, params.empty() ? CancelOutcome::raced : CancelOutcome::stopped);
    home.over(*this, Close::quietly);
  }

  HttpFarewells& home;
  LeftCall call;
  const milliseconds since;
  CancelTold told = CancelTold::not_sent;
  bool settled = false;
  net::Timer limit, grace;
};

HttpFarewells::HttpFarewells(net::Loop& loop, const config::Server& server, FarewellHome& home)
    : loop_(loop),
      server_(server),
      home_(home),
      stats_(core::upstream_stats(server.name)),
      tell_later_(
          loop, [](void* self) { static_cast<HttpFarewells*>(self)->tell_now(); }, this) {}

HttpFarewells::~HttpFarewells() {
  lifetime_.end();
  for (auto& farewell : farewells_) {
    if (farewell->call.messages) farewell->call.messages->close();
  }
}

void HttpFarewells::take(LeftCall call) {
  untold_.push_back(call.id);
  farewells_.push_back(std::make_unique<Farewell>(*this, std::move(call)));
  tell_later_.schedule();
}

HttpFarewells::Farewell* HttpFarewells::find(int64_t id) {
  // Mostly one of the last.
  auto found = std::find_if(farewells_.rbegin(), farewells_.rend(),
                            [&](const auto& farewell) { return farewell->call.id == id; });
  return found == farewells_.rend() ? nullptr : found->get();
}

bool HttpFarewells::answered(const mcp::Message& answer, int64_t id) {
  Farewell* farewell = farewells_.empty() ? nullptr : find(id);
  if (farewell == nullptr) return false;
  farewell->heard(answer);
  return true;
}

void HttpFarewells::tell_now() {
  std::vector<int64_t> untold;
  untold.swap(untold_);
  for (int64_t id : untold) {
    if (Farewell* farewell = find(id)) tell(*farewell);
  }
}

void HttpFarewells::tell(Farewell& farewell) {
  LeftCall& call = farewell.call;
  if (call.way == Way::keep) {
    farewell.told = CancelTold::nothing;
    ++kept_;
    if (!call.messages) {
      settle(farewell, CancelOutcome::raced);  // its stream ended just now
      return over(farewell);
    }
    refuse(call);
    call.messages->resume();
    // Clients that come and go must not fill the server.
    if (kept_ > server_.limits.max_in_flight) {
      for (auto& oldest : farewells_) {
        if (oldest->call.way != Way::keep || oldest->told == CancelTold::not_sent) continue;
        settle(*oldest, CancelOutcome::ignored);
        over(*oldest);
        break;
      }
    }
    farewell.limit.start(call.at_most, [this, &farewell] {
      settle(farewell, CancelOutcome::ignored);
      over(farewell);
    });
    farewell.grace.start(server_.timeouts.cancel_grace,
                         [this, &farewell] { settle(farewell, CancelOutcome::ignored); });
    return;
  }
  log::write(log::Level::debug, "call.cancel",
             {{"upstream", server_.name}, {"upstream_id", call.id}, {"why", call.why}});
  if (call.way == Way::close) {
    farewell.told = CancelTold::stream_closed;
    settle(farewell, CancelOutcome::stopped);
    return over(farewell);
  }
  farewell.told = CancelTold::notification;
  if (!call.messages) {
    home_.post(call.group, mcp::cancel_notification(call.id, call.why, mcp::Era::legacy), nullptr);
    return over(farewell);
  }
  auto closes = lifetime_.guard([this, id = call.id] {
    Farewell* its = find(id);
    if (its == nullptr) return;
    settle(*its, CancelOutcome::stopped);
    over(*its);
  });
  farewell.limit.start(call.may_be_task ? server_.timeouts.cancel_grace : kFarewell, closes);
  // A call that becomes a task after all: only its answer says under which name.
  std::function<void()> sent;
  if (!call.may_be_task) sent = closes;
  if (!home_.post(call.group, mcp::cancel_notification(call.id, call.why, mcp::Era::legacy),
                  std::move(sent))) {
    closes();
  } else {
    refuse(call);
  }
}

void HttpFarewells::refuse(LeftCall& call) {
  for (std::string& refusal : std::exchange(call.refusals, {}))
    home_.post(call.group, std::move(refusal), nullptr);
}

void HttpFarewells::settle(Farewell& farewell, CancelOutcome outcome) {
  if (std::exchange(farewell.settled, true)) return;
  core::CancelReport report{outcome, farewell.told, loop_.now() - farewell.since};
  if (farewell.told == CancelTold::not_sent) report.told = CancelTold::nothing;
  stats_.cancel_settled(farewell.call.tag, report);
}

void HttpFarewells::over(Farewell& farewell, Close how) {
  auto found = std::find_if(farewells_.begin(), farewells_.end(),
                            [&](const auto& one) { return one.get() == &farewell; });
  if (found == farewells_.end()) return;
  settle(farewell, CancelOutcome::stopped);
  if (farewell.call.way == Way::keep && farewell.told != CancelTold::not_sent) --kept_;
  refuse(farewell.call);
  farewell.limit.stop();
  farewell.grace.stop();
  if (farewell.call.messages) {
    how == Close::quietly ? farewell.call.messages->finish_quietly() : farewell.call.messages->close();
    loop_.retire(std::move(farewell.call.messages));
  }
  loop_.retire(std::move(*found));  // it may be on the stack
  farewells_.erase(found);
}

void HttpFarewells::close_kept() {
  tell_now();
  std::vector<int64_t> kept;
  for (const auto& farewell : farewells_) {
    if (farewell->call.way == Way::keep) kept.push_back(farewell->call.id);
  }
  for (int64_t id : kept) {
    if (Farewell* farewell = find(id)) over(*farewell);
  }
}

}  // namespace lineward::upstream
