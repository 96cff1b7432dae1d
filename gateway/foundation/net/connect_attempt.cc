#include "foundation/net/connect_attempt.h"

#include <uv.h>

#include "foundation/net/peer_silence.h"

namespace lineward::net {

namespace {

// A healthy server may send nothing for hours.
constexpr milliseconds kQuiet{5000};

}  // namespace

struct ConnectAttempt::Pending {
  Handle<uv_tcp_t> tcp;
  Handle<uv_pipe_t> pipe;
};

ConnectAttempt::ConnectAttempt(Loop& loop, Done done) : loop_(loop), done_(std::move(done)) {}

ConnectAttempt::~ConnectAttempt() = default;

int ConnectAttempt::start(const Address& address) {
  pending_ = std::make_shared<Pending>();
  Handle<uv_tcp_t>& tcp = pending_->tcp;
  int error = tcp.open(this, [&](uv_tcp_t* handle) { return uv_tcp_init(loop_.raw(), handle); });
  if (error == 0) {
    auto* request = new uv_connect_t;
    error = uv_tcp_connect(request, tcp.get(), reinterpret_cast<const sockaddr*>(&address.bytes),
                           [](uv_connect_t* r, int status) {
                             auto* self = static_cast<ConnectAttempt*>(r->handle->data);  // null: closed
                             delete r;
                             if (self != nullptr) self->connected(status);
                           });
    if (error != 0) delete request;
  }
  if (error != 0) stop();
  return error;
}

int ConnectAttempt::start(const std::string& unix_path) {
  pending_ = std::make_shared<Pending>();
  Handle<uv_pipe_t>& pipe = pending_->pipe;
  const int error = pipe.open(this, [&](uv_pipe_t* handle) { return uv_pipe_init(loop_.raw(), handle, 0); });
  if (error != 0) {
    stop();
    return error;
  }
  uv_pipe_connect(new uv_connect_t, pipe.get(), unix_path.c_str(), [](uv_connect_t* r, int status) {
    auto* self = static_cast<ConnectAttempt*>(r->handle->data);
    delete r;
    if (self != nullptr) self->connected(status);
  });
  return 0;
}

void ConnectAttempt::connected(int status) {
  const auto pending = std::move(pending_);
  const Done done = done_;  // the call may destroy this
  if (status != 0) return done(nullptr, status);
  if (pending->tcp) {
    uv_tcp_nodelay(pending->tcp.get(), 1);
    uv_os_fd_t socket = -1;
    if (uv_fileno(reinterpret_cast<const uv_handle_t*>(pending->tcp.get()), &socket) == 0)
      ask_when_quiet(socket, kQuiet);
    return done(ByteStream::from_handle(loop_, std::move(pending->tcp)), 0);
  }
  done(ByteStream::from_handle(loop_, std::move(pending->pipe)), 0);
}

void ConnectAttempt::stop() {
  pending_.reset();
}

}  // namespace lineward::net
