#include "foundation/net/byte_stream_tls.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "foundation/base/string_pool.h"

namespace lineward::net {
namespace {

using State = TlsSession::State;

// Plain bytes encrypted at once: the rest of an answer waits unencrypted while its client is slow.
constexpr size_t kSealedAtOnce = 4 * TlsSession::kRecord;
// Less of encrypted output than that waits for more to be sent with it: a ticket for the answer behind it.
constexpr size_t kSmallOutput = 4 * 1024;

}  // namespace

void ByteStream::set_owner(StreamCallbacks* owner) {
  if (tls_) {
    tls_->owner = owner;
  } else {
    owner_ = owner;
  }
}

StreamCallbacks* ByteStream::reader() const {
  return tls_ ? tls_->owner : owner_;
}

const TlsSession* ByteStream::tls() const {
  return tls_ ? tls_->session.get() : nullptr;
}

bool ByteStream::speak_tls(std::unique_ptr<TlsSession> session) {
  if (!tcp_ || session == nullptr) return false;
  tls_ = std::make_unique<Tls>(*this, std::move(session));
  tls_->owner = std::exchange(owner_, tls_.get());
  rest_is_tls();
  flush_later_.use([](void* self) { static_cast<ByteStream*>(self)->flush_tls(); });
  return true;
}

// ---- reading ----

void ByteStream::Tls::on_data(std::string_view bytes) {
  const Lifetime::Watch here = stream.lifetime_.watch();
  const State before = session->state();
  const size_t output = session->output().size();
  const std::string_view plain = session->feed(bytes);
  const State now = session->state();
  stream.note_output(output);
  const bool secured = before == State::handshake && (now == State::open || !plain.empty());
  if (secured) {
    stream.schedule_flush();  // what was written before
    if (owner != nullptr) owner->on_secured();
  }
  if (here.gone() || stream.closed()) return;
  if (!plain.empty() && owner != nullptr) owner->on_data(plain);
  // The owner may have moved the connection away.
  if (here.gone() || stream.closed()) return;
  if (now == State::closed) return stream.ended(0);
  if (now != State::failed) return;
  // The alert, or the answer to plain HTTP. Its FIN comes before the socket is closed.
  if (stream.try_send_tls() == 0) stream.shut();
  stream.ended(UV_EPROTO);
}

void ByteStream::Tls::on_end(int error) {
  if (owner != nullptr) owner->on_end(error);
}

void ByteStream::Tls::on_drained() {
  if (owner != nullptr && session->state() != State::handshake) owner->on_drained();
}

// ---- writing ----

// Counts the output that was added since, and sends it at the end of the turn.
void ByteStream::note_output(size_t before) {
  const size_t now = tls_->session->output().size();
  if (now == before) return;
  backlog_ += now - before;
  schedule_flush();
}

// Encrypts queued bytes. Small pieces share a record. False: there are none, or the handshake is not done.
bool ByteStream::seal_some() {
  TlsSession& session = *tls_->session;
  if (queue_.empty() || (session.state() != State::open && session.state() != State::closed)) return false;
  thread_local std::array<char, TlsSession::kRecord> record;
  size_t sealed = 0;
  while (!queue_.empty() && sealed < kSealedAtOnce) {
    size_t size = 0;
    while (!queue_.empty() && size < record.size()) {
      const std::string& piece = queue_.front();
      const size_t part = std::min(piece.size() - gone_, record.size() - size);
      std::memcpy(record.data() + size, piece.data() + gone_, part);
      size += part;
      gone_ += part;
      if (gone_ < piece.size()) break;
      StringPool::give(queue_.pop());
      gone_ = 0;
    }
    const size_t output = session.output().size();
    session.seal({record.data(), size});
    backlog_ -= size;
    backlog_ += session.output().size() - output;
    sealed += size;
    if (session.state() == State::failed) break;
  }
  return true;
}

// Writes as much as the kernel takes now. Returns 0 or the error.
int ByteStream::try_send_tls() {
  TlsSession& session = *tls_->session;
  for (;;) {
    const bool sealed = session.output().size() < kSmallOutput && seal_some();
    if (!sealed && session.output().empty()) return 0;
    const std::string_view bytes = session.output();
    if (bytes.empty()) return UV_EPROTO;
    const ssize_t sent = ::send(socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    if (sent < 0) return -errno;
    const bool all = static_cast<size_t>(sent) == bytes.size();
    session.sent(static_cast<size_t>(sent));
    backlog_ -= static_cast<size_t>(sent);
    sent_ += static_cast<size_t>(sent);
    if (!all) return 0;
  }
}

void ByteStream::flush_tls() {
  if (writing_ || closed()) return;
  TlsSession& session = *tls_->session;
  const auto end_after_last = [&] {
    if (!queue_.empty()) return;
    const size_t output = session.output().size();
    session.end();
    backlog_ += session.output().size() - output;
  };
  // A short last answer and close_notify are sent together, with a ticket before them.
  if (ending_writes_ && session.output().size() < kSmallOutput) {
    seal_some();
    end_after_last();
  }
  int error = try_send_tls();
  if (error == 0 && ending_writes_ && session.output().empty()) {
    end_after_last();
    error = try_send_tls();
  }
  if (error == 0 && !session.output().empty()) {
    // The kernel's buffer is full.
    writing_ = true;
    writing_bytes_ = 0;
    error = watch();
    if (error == 0) return;
    writing_ = false;
  }
  if (error != 0) return write_failed(error);
  if (queue_.empty()) all_sent();
}

void ByteStream::Tls::say_goodbye() {
  if (session == nullptr || session->state() != State::open || stream.writing_ || stream.ended_) return;
  // A stream that is cut must not look complete.
  if (!session->output().empty() || !stream.queue_.empty() || stream.shut_) return;
  session->end();
  const std::string_view bytes = session->output();
  [[maybe_unused]] const ssize_t sent =
      ::send(stream.socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace lineward::net
