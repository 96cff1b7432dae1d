// net/tcp_connector.h and net/resolver.h: addresses and names of the world.
#include "net/tcp_connector.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "net/address_class.h"
#include "net/resolver.h"
#include "world.h"

namespace lineward::net {
namespace {

using sim::world;

constexpr milliseconds kShortestAttempt{250};

std::optional<Address> literal(const std::string& host, uint16_t port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.bytes);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) != 1) return std::nullopt;
  v4->sin_family = AF_INET;
  v4->sin_port = htons(port);
  address.text = fmt::format("{}:{}", host, port);
  return address;
}

}  // namespace

// ---- names ----

struct Resolver::Mailbox {};

Resolver::Resolver(Loop& loop, std::string host, uint16_t port, ResolverOptions options)
    : loop_(loop), host_(std::move(host)), port_(port), options_(std::move(options)) {
  if (auto address = literal(host_, port)) known_.push_back(*address);
  literal_ = !known_.empty();
  refused_literal_ =
      literal_ && options_.only_public && !is_public(reinterpret_cast<const sockaddr&>(known_.front().bytes));
}

Resolver::~Resolver() = default;

const Addresses& Resolver::known() const {
  static const Addresses none;
  return (literal_ && !refused_literal_) || loop_.now() < known_until_ ? known_ : none;
}

void Resolver::forget() {
  known_until_ = milliseconds(0);
}

void Resolver::ask(Answer answer) {
  waiting_.push_back(std::move(answer));
  if (!mailbox_) look_up();
}

void Resolver::look_up() {
  mailbox_ = std::make_shared<Mailbox>();
  auto found = world().names().find(host_);
  const sim::Time delay = found == world().names().end() ? sim::kMillisecond : found->second.delay;
  world().at_home(world().home(), world().now() + delay, [this, asked = std::weak_ptr<Mailbox>(mailbox_)] {
    if (asked.expired()) return;  // and the resolver with it
    mailbox_.reset();
    auto name = world().names().find(host_);
    Addresses addresses;
    if (name != world().names().end()) {
      for (const auto& text : name->second.addresses) {
        if (auto address = literal(text, port_)) addresses.push_back(*address);
      }
    }
    if (literal_ && !refused_literal_) addresses = known_;
    if (addresses.empty())
      return answered(fail(fmt::format("the name {} cannot be resolved: not known", host_), true));
    answered(addresses);
  });
}

void Resolver::answered(const Result<Addresses>& answer) {
  if (answer) {
    known_ = *answer;
    known_until_ = loop_.now() + options_.young;
  }
  std::vector<Answer> waiting;
  waiting.swap(waiting_);
  for (auto& one : waiting)
    one(answer);
}

// ---- connections ----

Connector::Connector(Loop& loop, Resolver& resolver, milliseconds limit, Done done)
    : loop_(loop),
      resolver_(&resolver),
      deadline_(loop.now() + limit),
      done_(std::move(done)),
      address_(resolver.host()),
      attempt_(loop),
      overall_(loop) {
  overall_.start(limit, [this] {
    finish(Unexpected<ConnectFailure>{
        {true, fmt::format("has no connection: {} did not answer in time", address_)}});
  });
  if (!resolver.known().empty()) {
    use(resolver.known());
    return;
  }
  resolver.ask(lifetime_.guard([this](const Result<Addresses>& answer) {
    if (!done_) return;
    if (!answer) return finish(Unexpected<ConnectFailure>{{false, answer.error().text}});
    use(*answer);
  }));
}

Connector::Connector(Loop& loop, std::string unix_path, milliseconds limit, Done done)
    : loop_(loop),
      unix_path_(std::move(unix_path)),
      deadline_(loop.now() + limit),
      done_(std::move(done)),
      address_("unix:" + unix_path_),
      attempt_(loop),
      overall_(loop) {
  try_unix();
}

Connector::~Connector() = default;

void Connector::stop() {
  done_ = nullptr;
  attempt_.stop();
  overall_.stop();
  lifetime_.renew();
}

void Connector::use(const Addresses& addresses) {
  addresses_ = addresses;
  next_ = 0;
  try_next();
}

void Connector::try_next() {
  if (next_ == addresses_.size()) return finish_later({false, last_error_});
  const Address& address = addresses_[next_++];
  address_ = address.text;
  const milliseconds left = std::max(deadline_ - loop_.now(), milliseconds(1));
  const milliseconds share = left / static_cast<int64_t>(addresses_.size() - next_ + 1);
  // An answer to an attempt that was given up comes to nobody.
  const size_t attempt = next_;
  if (next_ < addresses_.size())
    attempt_.start(std::max(share, kShortestAttempt), [this] { attempt_failed(ETIMEDOUT); });
  auto host = world().hosts().find(address_);
  if (host != world().hosts().end() && host->second.silent) return;
  const sim::Time delay = host == world().hosts().end() ? 100 : host->second.delay;
  world().at_home(world().home(), world().now() + delay, lifetime_.guard([this, attempt] {
    if (!done_ || attempt != next_) return;
    if (world().is_crowded()) return attempt_failed(EMFILE);
    auto there = world().hosts().find(address_);
    if (there == world().hosts().end() || there->second.refuses || !there->second.accept)
      return attempt_failed(ECONNREFUSED);
    sim::Random random(world().seed(), address_, static_cast<uint64_t>(world().next_pid()));
    auto link =
        std::make_shared<sim::Link>(world(), random, sim::draw_weather(random, world().calm), address_);
    there->second.accept(link);
    auto stream = ByteStream::from_socket(loop_, world().put(std::move(link)));
    attempt_.stop();
    finish(std::move(*stream));
  }));
}

void Connector::try_unix() {
  finish_later({false, "there are no such sockets in this world"});
}

void Connector::attempt_failed(int error) {
  attempt_.stop();
  last_error_ = fmt::format("cannot connect to {}: {}", address_, std::strerror(error));
  try_next();
}

void Connector::succeeded() {}

void Connector::finish(Connected connected) {
  attempt_.stop();
  overall_.stop();
  if (!connected && resolver_ != nullptr) resolver_->forget();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(connected));
}

void Connector::finish_later(ConnectFailure failure) {
  attempt_.stop();
  loop_.defer(lifetime_, [this, failure = std::move(failure)]() mutable {
    if (done_) finish(Unexpected<ConnectFailure>{std::move(failure)});
  });
}

}  // namespace lineward::net
