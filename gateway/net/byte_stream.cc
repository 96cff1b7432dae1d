#include "net/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "base/spare_texts.h"

namespace lineward::net {

// Owns the bytes until libuv is done with them; knows the stream only while that one lives.
struct ByteStream::WriteRequest {
  uv_write_t request{};
  std::vector<std::string> pieces;
  size_t bytes = 0;
  std::shared_ptr<bool> alive;
  ByteStream* stream = nullptr;
};

namespace {

// One read buffer per thread is enough: libuv asks for it, fills it and calls back before it asks again.
void give_buffer(uv_handle_t*, size_t, uv_buf_t* buffer) {
  thread_local std::array<char, 64 * 1024> shared;
  *buffer = {shared.data(), shared.size()};
}

constexpr size_t kMostPieces = 64;  // per system call

// A socket's own call: write(2) asks the file system first, which is a good part of its price.
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

bool ByteStream::quiet() const {
  if (closed() || ended_) return false;
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return false;
  char byte = 0;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
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

int ByteStream::detach() {
  flush_now();
  if (writing_ || !queue_.empty() || ended_ || ending_writes_ || closed()) return -1;
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return -1;
  const int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (other >= 0) close();
  return other;
}

std::optional<uint32_t> ByteStream::peer_uid() const {
  uv_os_fd_t fd = -1;
  ucred who{};
  socklen_t size = sizeof who;
  if (closed() || uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return std::nullopt;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.pid == 0) return std::nullopt;
  return who.uid;
}

ByteStream::~ByteStream() {
  if (alive_) *alive_ = false;
  close();
}

void ByteStream::start_reading() {
  if (reading_ || ended_ || closed()) return;
  reading_ = true;
  int error = uv_read_start(raw(), give_buffer, [](uv_stream_t* h, ssize_t n, const uv_buf_t* buffer) {
    auto* self = static_cast<ByteStream*>(h->data);
    if (self == nullptr || n == 0) return;  // 0 is "try again", not the end
    if (n > 0) {
      self->loop_.note_read();
      if (self->owner_) self->owner_->on_data({buffer->base, static_cast<size_t>(n)});
      return;
    }
    self->ended(n == UV_EOF ? 0 : static_cast<int>(n));
  });
  if (error != 0) {
    loop_.defer([this, there = alive(), error] {
      if (*there) ended(error);
    });
  }
}

void ByteStream::pause_reading() {
  if (!reading_) return;
  reading_ = false;
  if (!closed()) uv_read_stop(raw());
}

void ByteStream::ended(int error) {
  if (ended_) return;
  ended_ = true;
  pause_reading();
  if (farewell_) return;
  if (owner_) owner_->on_end(error);
}

void ByteStream::write(std::string bytes) {
  if (bytes.empty() || closed() || ending_writes_ || shut_) return;
  backlog_ += bytes.size();
  queue_.push(std::move(bytes));
  schedule_flush();
}

void ByteStream::end_writes() {
  ending_writes_ = true;
  schedule_flush();
}

void ByteStream::schedule_flush() {
  if (!writing_) flush_later_.schedule();
}

// libuv tells how much of a write is done.
size_t ByteStream::backlog() const {
  if (!writing_ || closed()) return backlog_;
  return backlog_ - writing_bytes_ + std::min(writing_bytes_, uv_stream_get_write_queue_size(raw()));
}

// Gives the kernel what it takes now. 0, or the error; `partial` is how much of the first piece is gone
// already.
int ByteStream::try_send(size_t& partial) {
  partial = 0;
  if (tcp_ && socket_ < 0) uv_fileno(reinterpret_cast<const uv_handle_t*>(raw()), &socket_);
  while (!queue_.empty()) {
    std::array<uv_buf_t, kMostPieces> buffers;
    unsigned count = 0;
    for (auto& piece : queue_) {
      if (count == kMostPieces) break;
      buffers[count++] = {piece.data(), piece.size()};
    }
    const ssize_t sent = socket_ >= 0 ? send_pieces(socket_, buffers.data(), count)
                                      : uv_try_write(raw(), buffers.data(), count);
    if (sent == UV_EAGAIN || sent == 0) return 0;
    if (sent < 0) return static_cast<int>(sent);
    size_t left = static_cast<size_t>(sent);
    backlog_ -= left;
    sent_ += left;
    while (left > 0 && left >= queue_.front().size()) {
      left -= queue_.front().size();
      SpareTexts::give(queue_.pop());
    }
    partial = left;
    if (left > 0) return 0;
  }
  return 0;
}

void ByteStream::flush_now() {
  if (writing_ || ended_ || closed()) return;
  size_t partial = 0;
  if (try_send(partial) != 0) return schedule_flush();  // it will meet the error again, where it may tell
  if (partial > 0) queue_.front().erase(0, partial);
}

void ByteStream::flush() {
  while (!writing_ && !queue_.empty() && !closed()) {
    size_t left = 0;
    if (int error = try_send(left); error != 0) {
      queue_.clear();
      backlog_ = 0;
      if (farewell_) return farewell_done();
      ended(error);
      return;
    }
    if (queue_.empty()) break;
    // The kernel's buffer is full: hand the rest to libuv, which goes on when there is room.
    auto* request = new WriteRequest;
    request->request.data = request;
    request->alive = alive();
    request->stream = this;
    for (unsigned i = 0; i < kMostPieces && !queue_.empty(); ++i) {
      request->pieces.push_back(queue_.pop());
    }
    std::array<uv_buf_t, kMostPieces> buffers;
    unsigned count = 0;
    for (auto& piece : request->pieces) {
      size_t skip = count == 0 ? left : 0;
      buffers[count++] = {piece.data() + skip, piece.size() - skip};
      request->bytes += piece.size() - skip;
    }
    writing_ = true;
    writing_bytes_ = request->bytes;
    sent_ += request->bytes;
    int error = uv_write(&request->request, raw(), buffers.data(), count, [](uv_write_t* r, int status) {
      auto* done = static_cast<WriteRequest*>(r->data);
      if (*done->alive) done->stream->written(done, status);
      delete done;
    });
    if (error != 0) {
      delete request;
      writing_ = false;
      queue_.clear();
      backlog_ = 0;
      if (farewell_) return farewell_done();
      ended(error);
      return;
    }
  }
  if (queue_.empty() && !writing_ && !closed()) {
    if (farewell_) return farewell_done();
    if (ending_writes_) {
      auto* request = new uv_shutdown_t;
      if (uv_shutdown(request, raw(), [](uv_shutdown_t* r, int) { delete r; }) != 0) delete request;
      ending_writes_ = false;
      shut_ = true;
    }
    if (owner_) owner_->on_drained();
  }
}

void ByteStream::written(WriteRequest* request, int status) {
  writing_ = false;
  if (closed()) return;
  backlog_ -= request->bytes;
  if (status != 0) {
    queue_.clear();
    backlog_ = 0;
    if (farewell_) return farewell_done();
    ended(status);
    return;
  }
  flush();
}

void ByteStream::close() {
  owner_ = nullptr;
  reading_ = false;
  queue_.clear();
  backlog_ = 0;
  socket_ = -1;
  pipe_.close();
  tcp_.close();
}

void ByteStream::close_after_writes(std::unique_ptr<ByteStream> stream, milliseconds patience) {
  if (!stream || stream->closed() || (stream->backlog_ == 0 && !stream->writing_)) return;
  ByteStream* self = stream.release();  // owns itself from here on; farewell_done() ends it
  self->owner_ = nullptr;
  self->pause_reading();
  self->loop_.farewells_.insert(self);
  self->farewell_ = std::make_unique<Timer>(self->loop_);
  self->farewell_->start(patience, [self] { self->farewell_done(); });
}

void ByteStream::farewell_done() {
  loop_.farewells_.erase(this);
  delete this;
}

void ByteStream::abandon(ByteStream* stream) {
  delete stream;
}

}  // namespace lineward::net
