#include "foundation/net/connector.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>

namespace lineward::net {
namespace {

// An unresponsive address must leave time for the others, but still get a fair share.
constexpr milliseconds kShortestAttempt{250};

}  // namespace

Connector::Connector(Loop& loop, Resolver& resolver, milliseconds limit, Done done)
    : loop_(loop),
      resolver_(&resolver),
      deadline_(loop.now() + limit),
      done_(std::move(done)),
      address_(resolver.host()),
      attempt_(loop, [this](std::unique_ptr<ByteStream> stream,
                            int error) { attempted(std::move(stream), error); }),
      share_(loop),
      overall_(loop) {
  begin(limit);
  if (!resolver.known().empty()) {
    use(resolver.known());
    return;
  }
  resolver.ask(lifetime_.guard([this](const Result<Addresses>& answer) {
    if (!done_) return;
    if (!answer) return finish(fail(answer.error().text));
    use(*answer);
  }));
}

Connector::Connector(Loop& loop, std::string unix_path, milliseconds limit, Done done)
    : loop_(loop),
      unix_path_(std::move(unix_path)),
      deadline_(loop.now() + limit),
      done_(std::move(done)),
      address_("unix:" + unix_path_),
      attempt_(loop, [this](std::unique_ptr<ByteStream> stream,
                            int error) { attempted(std::move(stream), error); }),
      share_(loop),
      overall_(loop) {
  begin(limit);
  try_unix();
}

Connector::~Connector() = default;

void Connector::begin(milliseconds limit) {
  overall_.start(limit, [this] {
    finish(Unexpected<Error>{
        {.text = fmt::format("has no connection: {} did not answer in time", address_), .code = ETIMEDOUT}});
  });
}

void Connector::stop() {
  done_ = nullptr;
  share_.stop();
  overall_.stop();
  attempt_.stop();
}

void Connector::use(const Addresses& addresses) {
  addresses_ = addresses;
  next_ = 0;
  try_next();
}

void Connector::try_next() {
  if (next_ == addresses_.size()) return finish_later(last_error_);
  const Address& address = addresses_[next_++];
  address_ = address.text;
  const milliseconds left = std::max(deadline_ - loop_.now(), milliseconds(1));
  const milliseconds share = left / static_cast<int64_t>(addresses_.size() - next_ + 1);
  if (next_ < addresses_.size())
    share_.start(std::max(share, kShortestAttempt), [this] { attempted(nullptr, UV_ETIMEDOUT); });
  if (const int error = attempt_.start(address); error != 0) attempted(nullptr, error);
}

void Connector::try_unix() {
  if (unix_path_.empty() || unix_path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return finish_later(fmt::format("{} is no path of a socket", address_));
  }
  if (const int error = attempt_.start(unix_path_); error != 0) attempted(nullptr, error);
}

void Connector::attempted(std::unique_ptr<ByteStream> stream, int error) {
  if (stream) return finish(std::move(stream));
  share_.stop();
  attempt_.stop();
  last_error_ = fmt::format("cannot connect to {}: {}", address_, uv_strerror(error));
  if (resolver_ == nullptr) return finish_later(last_error_);
  try_next();
}

void Connector::finish(Connected connected) {
  share_.stop();
  overall_.stop();
  attempt_.stop();
  if (!connected && resolver_ != nullptr) resolver_->forget();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(connected));
}

// For errors found while a caller may be on the stack.
void Connector::finish_later(std::string failure) {
  share_.stop();
  loop_.defer(lifetime_, [this, failure = std::move(failure)]() mutable {
    if (done_) finish(fail(std::move(failure)));
  });
}

}  // namespace lineward::net
