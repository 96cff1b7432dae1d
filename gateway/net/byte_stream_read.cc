// How a stream is read, and what a TCP socket is watched for.
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "net/byte_stream.h"

namespace lineward::net {
namespace {

constexpr int kMaxReads = 16;  // of full buffers, before it is another stream's turn

// One for a thread is enough: what was read is passed on before more is.
uv_buf_t read_buffer() {
  thread_local std::array<char, 64 * 1024> shared;
  return {shared.data(), shared.size()};
}

}  // namespace

void ByteStream::start_reading() {
  if (reading_ || ended_ || closed()) return;
  reading_ = true;
  const auto give_buffer = [](uv_handle_t*, size_t, uv_buf_t* buffer) { *buffer = read_buffer(); };
  const auto on_read = [](uv_stream_t* h, ssize_t n, const uv_buf_t* buffer) {
    auto* self = static_cast<ByteStream*>(h->data);
    if (self == nullptr || n == 0) return;  // 0 is "try again", not the end
    if (n > 0) {
      self->loop_.note_read();
      if (self->owner_) self->owner_->on_data({buffer->base, static_cast<size_t>(n)});
      return;
    }
    self->ended(n == UV_EOF ? 0 : static_cast<int>(n));
  };
  const int error = tcp_ ? watch() : uv_read_start(raw(), give_buffer, on_read);
  if (error != 0) {
    loop_.defer(lifetime_, [this, error] { ended(error); });
  }
}

void ByteStream::pause_reading() {
  if (!reading_) return;
  reading_ = false;
  if (closed()) return;
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

// For what the stream waits for now. 0, or the error.
int ByteStream::watch() {
  const int wanted = (reading_ ? UV_READABLE : 0) | (writing_ ? UV_WRITABLE : 0);
  if (wanted == watched_) return 0;
  if (!poll_) {
    const auto init = [&](uv_poll_t* h) { return uv_poll_init(loop_.raw(), h, socket()); };
    if (int error = poll_.open(this, init); error != 0) return error;
  }
  watched_ = wanted;
  if (wanted == 0) return uv_poll_stop(poll_.get());
  return uv_poll_start(poll_.get(), wanted, [](uv_poll_t* h, int status, int events) {
    if (h->data != nullptr) static_cast<ByteStream*>(h->data)->ready(status, events);
  });
}

void ByteStream::ready(int status, int events) {
  if (status == 0 && events == UV_READABLE) return receive();
  // An error has ended the watch. What came before it can still be read; who reads or writes meets it then.
  if (status < 0) {
    watched_ = 0;
    events = UV_READABLE | UV_WRITABLE;
  }
  const Lifetime::Watch here = lifetime_.watch();
  if (reading_ && (events & UV_READABLE) != 0) receive();
  if (here.gone()) return;
  if (writing_ && (events & UV_WRITABLE) != 0) {
    writing_ = false;
    flush();
    if (here.gone()) return;
  }
  if (closed()) return;
  if (int error = watch(); error != 0) ended(error);
}

void ByteStream::receive() {
  const uv_buf_t buffer = read_buffer();
  for (int left = kMaxReads; left > 0;) {
    const ssize_t n = ::recv(socket_, buffer.base, buffer.len, MSG_DONTWAIT);
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
    if (here.gone() || !reading_) return;
    --left;
  }
}

void ByteStream::ended(int error) {
  if (ended_) return;
  ended_ = true;
  pause_reading();
  if (last_bytes_) return;
  if (owner_) owner_->on_end(error);
}

bool ByteStream::quiet() const {
  if (closed() || ended_) return false;
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(raw()), &fd) != 0) return false;
  char byte = 0;
  ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace lineward::net
