#include "net/tcp_connector.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <uv.h>

#include <algorithm>

namespace lineward::net {
namespace {

// One address that does not answer must leave time for the others, and still be given a fair chance.
constexpr milliseconds kShortestAttempt{250};

}  // namespace

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
  overall_.start(limit, [this] {
    finish(Unexpected<ConnectFailure>{
        {true, fmt::format("has no connection: {} did not answer in time", address_)}});
  });
  try_unix();
}

Connector::~Connector() = default;

void Connector::stop() {
  done_ = nullptr;
  attempt_.stop();
  overall_.stop();
  tcp_.close();
  pipe_.close();
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
  milliseconds left = std::max(deadline_ - loop_.now(), milliseconds(1));
  milliseconds share = left / static_cast<int64_t>(addresses_.size() - next_ + 1);
  if (next_ < addresses_.size()) {
    attempt_.start(std::max(share, kShortestAttempt), [this] { attempt_failed(UV_ETIMEDOUT); });
  }
  int error = tcp_.open(this, [&](uv_tcp_t* handle) { return uv_tcp_init(loop_.raw(), handle); });
  if (error == 0) {
    auto* request = new uv_connect_t;
    error = uv_tcp_connect(request, tcp_.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                           [](uv_connect_t* r, int status) {
                             auto* self = static_cast<Connector*>(r->handle->data);  // null after close()
                             delete r;
                             if (self == nullptr) return;
                             status == 0 ? self->succeeded() : self->attempt_failed(status);
                           });
    if (error != 0) delete request;
  }
  if (error != 0) attempt_failed(error);
}

void Connector::try_unix() {
  if (unix_path_.empty() || unix_path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return finish_later({false, fmt::format("{} is no path of a socket", address_)});
  }
  int error = pipe_.open(this, [&](uv_pipe_t* handle) { return uv_pipe_init(loop_.raw(), handle, 0); });
  if (error != 0) return attempt_failed(error);
  uv_pipe_connect(new uv_connect_t, pipe_.get(), unix_path_.c_str(), [](uv_connect_t* r, int status) {
    auto* self = static_cast<Connector*>(r->handle->data);
    delete r;
    if (self == nullptr) return;
    status == 0 ? self->succeeded() : self->attempt_failed(status);
  });
}

void Connector::attempt_failed(int error) {
  attempt_.stop();
  tcp_.close();
  pipe_.close();
  last_error_ = fmt::format("cannot connect to {}: {}", address_, uv_strerror(error));
  if (resolver_ == nullptr) return finish_later({false, last_error_});
  try_next();
}

void Connector::succeeded() {
  std::unique_ptr<ByteStream> stream;
  if (tcp_) {
    uv_tcp_nodelay(tcp_.get(), 1);
    stream = ByteStream::from_handle(loop_, std::move(tcp_));
  } else {
    stream = ByteStream::from_handle(loop_, std::move(pipe_));
  }
  finish(std::move(stream));
}

void Connector::finish(Connected connected) {
  attempt_.stop();
  overall_.stop();
  tcp_.close();
  pipe_.close();
  if (!connected && resolver_ != nullptr) resolver_->forget();
  if (auto done = std::exchange(done_, nullptr)) done(std::move(connected));
}

// From where a caller may still be on the stack.
void Connector::finish_later(ConnectFailure failure) {
  attempt_.stop();
  loop_.defer(lifetime_, [this, failure = std::move(failure)]() mutable {
    if (done_) finish(Unexpected<ConnectFailure>{std::move(failure)});
  });
}

}  // namespace lineward::net
