#include "foundation/net/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/base/string_pool.h"
#include "foundation/net/byte_stream_tls.h"
#include "foundation/net/peer_silence.h"

namespace lineward::net {

// Owns the bytes until libuv has written them; refers to the stream only while it exists.
struct ByteStream::WriteRequest {
  uv_write_t request{};
  std::vector<std::string> pieces;
  size_t bytes = 0;
  ByteStream* stream = nullptr;
  Lifetime::Watch watch;  // of the stream
};

// Bytes put back by the owner.
struct ByteStream::Rest {
  explicit Rest(ByteStream& its) : stream(its) {}
  // An idle callback runs once per turn, after a poll; a timer of 0 ms that restarts itself would run before
  // the poll.
  void start() {
    const auto init = [this](uv_idle_t* h) { return uv_idle_init(stream.loop_.raw(), h); };
    if (!next_turn) LW_CHECK(next_turn.open(this, init) == 0);
    uv_idle_start(next_turn.get(), [](uv_idle_t* h) {
      auto* self = static_cast<Rest*>(h->data);
      if (self == nullptr) return;
      self->stop();
      self->stream.give_rest();  // may destroy this
    });
  }
  void stop() {
    if (next_turn) uv_idle_stop(next_turn.get());
  }

  ByteStream& stream;
  std::string bytes;
  size_t at = 0;            // offset of the first byte
  bool before_tls = false;  // put back before TLS began: they are its first bytes
  MemoryCharge held{Held::bodies};
  Handle<uv_idle_t> next_turn;
};

namespace {

constexpr size_t kMaxPieces = 64;  // per system call
constexpr int kMaxReads = 16;      // reads of full buffers before other streams get a turn
constexpr int kMaxPipeReads = 4;   // likewise; one read fills a pipe's own buffer

// A buffer per thread suffices: its data is delivered before the next read.
uv_buf_t read_buffer() {
  thread_local std::array<char, 64 * 1024> shared;
  return {shared.data(), shared.size()};
}

// Uses a socket call: write(2) goes through the file system layer first, a good part of its cost.
ssize_t send_pieces(int fd, uv_buf_t* pieces, unsigned count) {
  static_assert(sizeof(uv_buf_t) == sizeof(iovec) && offsetof(uv_buf_t, base) == offsetof(iovec, iov_base) &&
                offsetof(uv_buf_t, len) == offsetof(iovec, iov_len));
  msghdr all{};
  all.msg_iov = reinterpret_cast<iovec*>(pieces);
  all.msg_iovlen = count;
  for (;;) {
    const ssize_t sent = count == 1 ? ::send(fd, pieces->base, pieces->len, MSG_NOSIGNAL | MSG_DONTWAIT)
                                    : ::sendmsg(fd, &all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return UV_EAGAIN;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

Result<std::unique_ptr<ByteStream>> ByteStream::from_pipe(Loop& loop, int fd) {
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  int error = stream->pipe_.open(stream.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop.raw(), h, 0); });
  if (error == 0) error = uv_pipe_open(stream->pipe_.get(), fd);
  if (error != 0) {
    ::close(fd);
    return fail(fmt::format("cannot use a pipe: {}", uv_strerror(error)));
  }
  return stream;
}

std::unique_ptr<ByteStream> ByteStream::from_handle(Loop& loop, Handle<uv_tcp_t> handle) {
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  stream->tcp_ = std::move(handle);
  stream->tcp_.set_owner(stream.get());
  return stream;
}

std::unique_ptr<ByteStream> ByteStream::from_handle(Loop& loop, Handle<uv_pipe_t> handle) {
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  stream->pipe_ = std::move(handle);
  stream->pipe_.set_owner(stream.get());
  return stream;
}

Result<std::unique_ptr<ByteStream>> ByteStream::from_socket(Loop& loop, int fd) {
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  int error = getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0
                  ? 0
                  : uv_translate_sys_error(errno);
  if (error == 0 && address.ss_family == AF_UNIX) {
    error = stream->pipe_.open(stream.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop.raw(), h, 0); });
    if (error == 0) error = uv_pipe_open(stream->pipe_.get(), fd);
  } else if (error == 0) {
    error = stream->tcp_.open(stream.get(), [&](uv_tcp_t* h) { return uv_tcp_init(loop.raw(), h); });
    if (error == 0) error = uv_tcp_open(stream->tcp_.get(), fd);
  }
  if (error == 0) return stream;
  ::close(fd);
  return fail(uv_strerror(error));
}

int ByteStream::detach(std::unique_ptr<TlsSession>* tls) {
  flush_now();
  const bool holds_bytes = rest_ && rest_->at < rest_->bytes.size();  // put_back({}) holds none
  if (writing_ || !queue_.empty() || ended_ || holds_bytes || ending_writes_ || closed()) return -1;
  if (tls_ && (tls == nullptr || !tls_->can_move())) return -1;
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return -1;
  const int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (other < 0) return other;
  if (tls_) *tls = std::move(tls_->session);
  close();
  return other;
}

void ByteStream::rest_is_tls() {
  if (rest_) rest_->before_tls = true;
}

// Asked for with each request, and it never changes.
uint16_t ByteStream::local_port() const {
  if (local_port_ < 0) local_port_ = ask_local_port();
  return static_cast<uint16_t>(local_port_);
}

uint16_t ByteStream::ask_local_port() const {
  sockaddr_storage own{};
  int size = sizeof own;
  if (!tcp_ || uv_tcp_getsockname(reinterpret_cast<const uv_tcp_t*>(raw()), reinterpret_cast<sockaddr*>(&own),
                                  &size) != 0)
    return 0;
  if (own.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port);
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port);
  return 0;
}

std::optional<uint32_t> ByteStream::peer_uid() const {
  uv_os_fd_t fd = -1;
  ucred who{};
  socklen_t size = sizeof who;
  if (closed() || uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return std::nullopt;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.pid == 0) return std::nullopt;
  return who.uid;
}

bool ByteStream::peer_is_silent(milliseconds quiet) {
  if (!tcp_ || ended_) return false;
  if (!std::exchange(asks_when_quiet_, true)) ask_when_quiet(socket(), quiet);
  return is_silent(socket(), quiet);
}

ByteStream::ByteStream(Loop& loop)
    : loop_(loop),
      flush_later_(
          loop, [](void* self) { static_cast<ByteStream*>(self)->flush(); }, this) {}

ByteStream::~ByteStream() {
  close();
}

// libuv reports how much of a write is done.
size_t ByteStream::backlog() const {
  if (!writing_ || closed()) return backlog_;
  return backlog_ - writing_bytes_ + std::min(writing_bytes_, uv_stream_get_write_queue_size(raw()));
}

// Writes as much as the kernel takes now. Returns 0 or the error.
int ByteStream::try_send() {
  while (!queue_.empty()) {
    std::array<uv_buf_t, kMaxPieces> buffers;
    unsigned count = 0;
    for (auto& piece : queue_) {
      if (count == kMaxPieces) break;
      const size_t skip = count == 0 ? gone_ : 0;
      buffers[count++] = {piece.data() + skip, piece.size() - skip};
    }
    const ssize_t sent =
        tcp_ ? send_pieces(socket(), buffers.data(), count) : uv_try_write(raw(), buffers.data(), count);
    if (sent == UV_EAGAIN || sent == 0) return 0;
    if (sent < 0) return static_cast<int>(sent);
    backlog_ -= static_cast<size_t>(sent);
    sent_ += static_cast<size_t>(sent);
    size_t left = gone_ + static_cast<size_t>(sent);
    while (left > 0 && left >= queue_.front().size()) {
      left -= queue_.front().size();
      StringPool::give(queue_.pop());
    }
    gone_ = left;
    if (left > 0) return 0;
  }
  return 0;
}

void ByteStream::flush_now() {
  if (writing_ || ended_ || closed()) return;
  if ((tls_ ? try_send_tls() : try_send()) != 0)
    schedule_flush();  // the retry meets the error again, and may report it
}

void ByteStream::flush() {
  while (!writing_ && !queue_.empty() && !closed()) {
    int error = try_send();
    if (error == 0 && queue_.empty()) break;
    if (error == 0 && tcp_) {
      // The kernel's buffer is full.
      writing_ = true;
      writing_bytes_ = 0;
      error = watch();
      if (error == 0) return;
      writing_ = false;
    }
    if (error != 0) return write_failed(error);
    // The same for a pipe: libuv sends the rest when there is room.
    auto* request = new WriteRequest;
    request->request.data = request;
    request->stream = this;
    request->watch = lifetime_.watch();
    for (unsigned i = 0; i < kMaxPieces && !queue_.empty(); ++i) {
      request->pieces.push_back(queue_.pop());
    }
    std::array<uv_buf_t, kMaxPieces> buffers;
    unsigned count = 0;
    for (auto& piece : request->pieces) {
      size_t skip = count == 0 ? std::exchange(gone_, 0) : 0;
      buffers[count++] = {piece.data() + skip, piece.size() - skip};
      request->bytes += piece.size() - skip;
    }
    writing_ = true;
    writing_bytes_ = request->bytes;
    sent_ += request->bytes;
    error = uv_write(&request->request, raw(), buffers.data(), count, [](uv_write_t* r, int status) {
      auto* done = static_cast<WriteRequest*>(r->data);
      if (!done->watch.gone()) done->stream->written(done, status);
      delete done;
    });
    if (error != 0) {
      delete request;
      writing_ = false;
      return write_failed(error);
    }
  }
  if (queue_.empty() && !writing_ && !closed()) all_sent();
}

void ByteStream::shut() {
  if (tcp_) {
    ::shutdown(socket(), SHUT_WR);
    return;
  }
  auto* request = new uv_shutdown_t;
  if (uv_shutdown(request, raw(), [](uv_shutdown_t* r, int) { delete r; }) != 0) delete request;
}

void ByteStream::written(WriteRequest* request, int status) {
  writing_ = false;
  if (closed()) return;
  backlog_ -= request->bytes;
  if (status != 0) return write_failed(status);
  flush();
}

void ByteStream::close() {
  if (tls_ && !closed()) tls_->say_goodbye();
  owner_ = nullptr;
  reading_ = false;
  rest_.reset();
  drop_queue();
  socket_ = -1;
  watched_ = 0;
  poll_.close();
  pipe_.close();
  tcp_.close();
}

// ---- reading ----

void ByteStream::start_reading() {
  if (reading_ || ended_ || closed()) return;
  reading_ = true;
  if (rest_) return rest_->start();
  const int error = read_on();
  if (error != 0) {
    loop_.defer(lifetime_, [this, error] { ended(error); });
  }
}

// Starts reading from the kernel. Returns 0 or the error.
int ByteStream::read_on() {
  if (tcp_) return watch();
  const auto give_buffer = [](uv_handle_t*, size_t, uv_buf_t* buffer) { *buffer = read_buffer(); };
  const int error = uv_read_start(raw(), give_buffer, [](uv_stream_t* h, ssize_t n, const uv_buf_t* buffer) {
    auto* self = static_cast<ByteStream*>(h->data);
    if (self == nullptr || n == 0) return;  // 0 is "try again", not the end
    if (n > 0) {
      const std::string_view bytes(buffer->base, static_cast<size_t>(n));
      return self->read_pipe(bytes, bytes.size() == buffer->len);
    }
    self->ended(n == UV_EOF ? 0 : static_cast<int>(n));
  });
  return error == UV_EALREADY ? 0 : error;
}

// libuv reads a pipe up to 32 times in a turn while its writer keeps up.
void ByteStream::read_pipe(std::string_view bytes, bool full) {
  loop_.note_read();
  if (full) {
    full_reads_ = std::exchange(full_reads_turn_, loop_.turn()) == loop_.turn() ? full_reads_ + 1 : 1;
    if (full_reads_ >= kMaxPipeReads) put_back({});
  }
  if (owner_) owner_->on_data(bytes);
}

void ByteStream::put_back(std::string_view rest) {
  if (closed() || ended_) return;
  if (!rest_) {
    rest_ = std::make_unique<Rest>(*this);
    if (!rest.empty() && giving_ != nullptr) {
      rest_->at = giving_->bytes.size() - rest.size();
      rest_->bytes = std::move(giving_->bytes);
    }
    if (tcp_) {
      watch();
    } else {
      uv_read_stop(raw());
    }
    if (reading_) rest_->start();
  }
  if (!rest.empty() && rest_->bytes.empty()) rest_->bytes = rest;
  rest_->held.set(rest_->bytes.size() - rest_->at);
}

void ByteStream::give_rest() {
  std::unique_ptr<Rest> rest = std::move(rest_);
  if (rest->at < rest->bytes.size() && owner_ != nullptr) {
    const Lifetime::Watch here = lifetime_.watch();
    const std::string_view bytes = std::string_view(rest->bytes).substr(rest->at);
    if (rest->before_tls) {
      owner_->on_data(bytes);
    } else {
      giving_ = rest.get();
      reader()->on_data(bytes);
    }
    if (here.gone()) return;
    giving_ = nullptr;
  }
  if (rest_ || !reading_ || ended_ || closed()) return;
  if (const int error = read_on(); error != 0) ended(error);
}

void ByteStream::pause_reading() {
  if (!reading_) return;
  reading_ = false;
  if (closed()) return;
  if (rest_) rest_->stop();
  if (tcp_) {
    watch();
  } else {
    uv_read_stop(raw());
  }
}

int ByteStream::socket() {
  if (socket_ < 0) uv_fileno(reinterpret_cast<const uv_handle_t*>(raw()), &socket_);
  return socket_;
}

// Watches for the events the stream needs now. Returns 0 or the error.
int ByteStream::watch() {
  const int wanted = (reading_ && !rest_ ? UV_READABLE : 0) | (writing_ ? UV_WRITABLE : 0);
  if (wanted == watched_) return 0;
  const int before = std::exchange(watched_, wanted);
  // libuv takes one watcher of a descriptor at a time: the old one stops first.
  if (before == UV_READABLE) uv_read_stop(raw());
  if ((before & UV_WRITABLE) != 0) uv_poll_stop(poll_.get());
  int error = 0;
  if ((wanted & UV_WRITABLE) != 0) {
    if (!poll_)
      error = poll_.open(this, [&](uv_poll_t* h) { return uv_poll_init(loop_.raw(), h, socket()); });
    if (error == 0) {
      error = uv_poll_start(poll_.get(), wanted, [](uv_poll_t* h, int status, int events) {
        if (h->data != nullptr) static_cast<ByteStream*>(h->data)->ready(status, events);
      });
    }
  } else if (wanted == UV_READABLE) {
    const auto no_buffer = [](uv_handle_t*, size_t, uv_buf_t* buffer) { *buffer = uv_buf_init(nullptr, 0); };
    error = uv_read_start(raw(), no_buffer, [](uv_stream_t* h, ssize_t n, const uv_buf_t*) {
      if (h->data != nullptr && n == UV_ENOBUFS) static_cast<ByteStream*>(h->data)->receive();
    });
  }
  if (error != 0) watched_ = 0;
  return error;
}

void ByteStream::ready(int status, int events) {
  if (status == 0 && events == UV_READABLE) return receive();
  // An error has ended the watch. Data received before it can still be read; the next read or write returns
  // the error.
  if (status < 0) {
    watched_ = 0;
    events = UV_READABLE | UV_WRITABLE;
  }
  const Lifetime::Watch here = lifetime_.watch();
  if (reading_ && !rest_ && (events & UV_READABLE) != 0) receive();
  if (here.gone()) return;
  if (writing_ && (events & UV_WRITABLE) != 0) {
    writing_ = false;
    tls_ ? flush_tls() : flush();
    if (here.gone()) return;
  }
  if (closed()) return;
  if (int error = watch(); error != 0) ended(error);
}

void ByteStream::receive() {
  const uv_buf_t buffer = read_buffer();
  for (int left = kMaxReads; left > 0;) {
    const ssize_t n = ::recv(socket(), buffer.base, buffer.len, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) return ended(n == 0 ? 0 : -errno);
    loop_.note_read();
    const std::string_view bytes(buffer.base, static_cast<size_t>(n));
    if (bytes.size() < buffer.len) {
      if (owner_) owner_->on_data(bytes);
      return;
    }
    const Lifetime::Watch here = lifetime_.watch();
    if (owner_) owner_->on_data(bytes);
    if (here.gone() || !reading_ || rest_) return;
    --left;
  }
}

void ByteStream::ended(int error) {
  if (ended_) {
    // The other side's FIN was told, and now its RST: nothing waits to be sent any more.
    if (error != 0 && !last_bytes_ && owner_ != nullptr) owner_->on_drained();
    return;
  }
  ended_ = true;
  pause_reading();
  if (last_bytes_) return;
  if (owner_) owner_->on_end(error);
}

bool ByteStream::quiet() const {
  if (closed() || ended_ || rest_) return false;
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return false;
  char byte = 0;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace lineward::net
