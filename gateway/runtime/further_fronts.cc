#include "runtime/further_fronts.h"

#include <algorithm>

#include "foundation/log/log.h"
#include "runtime/routes.h"

namespace lineward::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookAtLeaving{100};

// Authentication is off at this listener; the policies of calls are as elsewhere.
class OpenGate final : public core::Gate {
 public:
  explicit OpenGate(std::shared_ptr<core::Gate> inner) : inner_(std::move(inner)) {}
  bool open(std::string_view) const override { return true; }
  std::optional<core::GateAnswer> admit(const core::GateRequest&, core::GateDone) override {
    return core::GateAnswer(core::CallerPtr());
  }
  const std::vector<std::string>& headers_wanted() const override { return inner_->headers_wanted(); }
  void on_refused(const core::RefusedRequest& request) override { inner_->on_refused(request); }
  bool reads_all() const override { return inner_->reads_all(); }

 private:
  const std::shared_ptr<core::Gate> inner_;
};

// A removed listener that had an auth of its own, which is no longer there to judge its callers.
class ClosedGate final : public core::Gate {
 public:
  explicit ClosedGate(std::shared_ptr<core::Gate> inner) : inner_(std::move(inner)) {}
  bool open(std::string_view) const override { return false; }
  std::optional<core::GateAnswer> admit(const core::GateRequest&, core::GateDone) override {
    core::PolicyError denial{.reason = mcp::EndReason::unauthorized, .status = 401};
    denial.by = "auth";
    denial.text = "this listener was removed by a reload";
    return core::GateAnswer(std::move(denial));
  }
  const std::vector<std::string>& headers_wanted() const override {
    static const std::vector<std::string> kNone;
    return inner_ ? inner_->headers_wanted() : kNone;
  }
  void on_refused(const core::RefusedRequest& request) override {
    if (inner_) inner_->on_refused(request);
  }
  bool reads_all() const override { return inner_ && inner_->reads_all(); }

 private:
  const std::shared_ptr<core::Gate> inner_;
};

}  // namespace

FurtherFronts::FurtherFronts(net::Loop& loop, core::ExchangeApi& exchanges, client::SessionTable& sessions,
                             Place place)
    : loop_(loop), exchanges_(exchanges), sessions_(sessions), place_(std::move(place)), look_(loop) {}

FurtherFronts::~FurtherFronts() = default;

FurtherFronts::One* FurtherFronts::find_in(const All& all, const std::string& name) const {
  auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->config.name == name; });
  return found == all.end() ? nullptr : found->get();
}

client::HttpFront* FurtherFronts::find(const std::string& listener) const {
  const One* one = find_in(fronts_, listener);
  return one != nullptr ? one->front.get() : nullptr;
}

std::vector<FurtherFronts::View> FurtherFronts::view() const {
  std::vector<View> out;
  for (const auto& one : fronts_)
    out.push_back({one->config.name, one->front.get()});
  return out;
}

std::shared_ptr<core::Gate> FurtherFronts::gate_for(const config::FurtherListen& listener,
                                                    const std::shared_ptr<core::Gate>& gate) const {
  return gate == nullptr || listener.authenticates ? gate : std::make_shared<OpenGate>(gate);
}

std::unique_ptr<FurtherFronts::One> FurtherFronts::make(const config::FurtherListen& listener,
                                                        const config::Config& next,
                                                        const cluster::ServerPlacement& placement) {
  auto one = std::make_unique<One>();
  one->config = listener;
  const ListenerParts parts = place_.parts(listener.name);
  one->front = std::make_unique<client::HttpFront>(
      loop_, one->config.listen, routes_of(listener, next, placement), exchanges_, parts.caps, &sessions_);
  one->front->use_tls(parts.tls);
  one->front->use_replicas(links_);
  if (place_.workers > 1) {
    client::Neighbours neighbours;
    neighbours.self = place_.index;
    neighbours.workers = place_.workers;
    neighbours.send = [this, name = listener.name](size_t worker, client::MovedConnection moved) {
      place_.hand_on(worker, name, std::move(moved));
    };
    neighbours.send_new = [this, name = listener.name](size_t worker, client::NewConnection accepted) {
      place_.hand_on_new(worker, name, std::move(accepted));
    };
    one->front->use_neighbours(std::move(neighbours));
  }
  return one;
}

Status<> FurtherFronts::open(One& one, const config::Listen& listen, const FurtherFronts* first) {
  client::FrontListener& listener = one.front->listener();
  if (first == nullptr) return listener.open_next(listen);
  const One* other = first->find_in(first->prepared_, one.config.name);
  if (other == nullptr) other = first->find_in(first->fronts_, one.config.name);
  const net::Listener* socket = other != nullptr ? other->front->listener().newest() : nullptr;
  if (socket == nullptr) return fail("the listener '" + one.config.name + "' is not open");
  return listener.join_next(socket->share(), socket->address(), socket->is_loopback());
}

// A new front has its gate before it is open.
Status<> FurtherFronts::prepare(const config::Config& next, const cluster::ServerPlacement& placement,
                                const std::shared_ptr<core::Gate>& gate, const FurtherFronts* first) {
  for (const config::FurtherListen& listener : next.listeners) {
    One* now = find_in(fronts_, listener.name);
    if (now != nullptr && now->config.listen.address == listener.listen.address) continue;
    std::unique_ptr<One> made;
    if (now == nullptr) {
      made = make(listener, next, placement);
      made->front->use_gate(gate_for(listener, gate));
    }
    One& one = now != nullptr ? *now : *made;
    if (auto opened = open(one, listener.listen, first); !opened)
      return fail("listeners." + listener.name + ": " + opened.error().text);
    one.moves = true;
    if (made) prepared_.push_back(std::move(made));
  }
  return Done{};
}

void FurtherFronts::forget() {
  for (auto& one : fronts_) {
    if (std::exchange(one->moves, false)) one->front->listener().forget_next();
  }
  // It may have accepted connections by now.
  for (auto& one : std::exchange(prepared_, {}))
    leave(std::move(one), milliseconds(0));
}

void FurtherFronts::use(const config::Config& next) {
  for (auto& one : std::exchange(prepared_, {}))
    fronts_.push_back(std::move(one));
  for (auto& one : std::exchange(fronts_, {})) {
    auto found = std::find_if(next.listeners.begin(), next.listeners.end(),
                              [&](const auto& listener) { return listener.name == one->config.name; });
    if (found == next.listeners.end()) {
      if (place_.index == 0)
        log::write(log::Level::info, "listen.over",
                   {{"address", one->front->address()}, {"listener", one->config.name}});
      leave(std::move(one), next.shutdown.drain);
      continue;
    }
    one->config = *found;  // its connections refer to it
    fronts_.push_back(std::move(one));
  }
}

void FurtherFronts::move() {
  for (auto& one : fronts_) {
    const bool opens = std::exchange(one->moves, false);
    one->front->listener().move();
    if (place_.index != 0) continue;
    one->front->listener().use_access(one->config.listen.socket);
    if (opens)
      log::write(log::Level::info, "listen",
                 {{"address", one->front->address()}, {"listener", one->config.name}});
  }
}

void FurtherFronts::use_gate(const std::shared_ptr<core::Gate>& gate) {
  for (auto& one : fronts_)
    one->front->use_gate(gate_for(one->config, gate));
  for (auto& one : leaving_) {
    if (one->config.auth.given) {
      one->front->use_gate(std::make_shared<ClosedGate>(gate));
    } else {
      one->front->use_gate(gate_for(one->config, gate));
    }
  }
}

void FurtherFronts::use_replicas(const client::ReplicaLinks& links) {
  links_ = links;
  each([&](client::HttpFront& front) { front.use_replicas(links); });
}

void FurtherFronts::use_paths(const config::Config& config, const cluster::ServerPlacement& placement,
                              const std::set<std::string>& leaving) {
  for (auto& one : fronts_)
    one->front->use_paths(routes_of(one->config, config, placement, one->front->paths(), leaving));
}

void FurtherFronts::leave(std::unique_ptr<One> one, milliseconds grace) {
  one->front->listener().forget_next();
  one->front->drain();
  one->until = loop_.now() + grace;
  leaving_.push_back(std::move(one));
  look_.start(kLookAtLeaving, [this] { look_at_leaving(); });
}

void FurtherFronts::look_at_leaving() {
  for (auto& one : std::exchange(leaving_, {})) {
    if (loop_.now() >= one->until) one->front->close_all();
    if (one->front->connections() == 0 && one->front->unanswered() == 0) {
      loop_.retire(std::move(one));
    } else {
      leaving_.push_back(std::move(one));
    }
  }
  if (!leaving_.empty()) look_.start(kLookAtLeaving, [this] { look_at_leaving(); });
}

void FurtherFronts::drain() {
  each([](client::HttpFront& front) { front.drain(); });
}

void FurtherFronts::close_all() {
  each([](client::HttpFront& front) { front.close_all(); });
}

size_t FurtherFronts::unanswered() const {
  size_t sum = 0;
  each([&](const client::HttpFront& front) { sum += front.unanswered(); });
  return sum;
}

size_t FurtherFronts::connections() const {
  size_t sum = 0;
  each([&](const client::HttpFront& front) { sum += front.connections(); });
  return sum;
}

size_t FurtherFronts::take_most_connections() {
  size_t sum = 0;
  each([&](client::HttpFront& front) { sum += front.take_most_connections(); });
  return sum;
}

size_t FurtherFronts::backlog() const {
  size_t sum = 0;
  each([&](const client::HttpFront& front) { sum += front.backlog(); });
  return sum;
}

}  // namespace lineward::runtime
