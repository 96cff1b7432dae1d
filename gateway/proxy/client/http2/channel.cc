#include "proxy/client/http2/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "foundation/net/byte_stream.h"
#include "proxy/client/http2/http2_connection.h"
#include "proxy/client/http2/http2_stream.h"

namespace lineward::client {

Channel::Channel(net::Loop& loop, Http2Connection& connection)
    : loop_(loop),
      connection_(&connection),
      deliver_later_(
          loop, [](void* self) { static_cast<Channel*>(self)->deliver(); }, this) {}

Channel::~Channel() {
  lifetime_.end();
  close();
}

void Channel::begin(Http2Stream& stream) {
  stream_ = &stream;
  stream.body.charge(account_);
}

void Channel::give(std::string_view bytes) {
  if (owner_ == nullptr) return;
  if (reading_ && kept_.empty()) return owner_->on_data(bytes);
  kept_ += bytes;
  kept_held_.set(kept_.size());
}

void Channel::deliver() {
  if (!reading_ || owner_ == nullptr || kept_.empty()) return;
  const std::string bytes = std::exchange(kept_, {});
  kept_held_.set(0);
  const auto watch = lifetime_.watch();
  owner_->on_data(bytes);
  if (!watch.gone() && stream_ != nullptr && reading_) connection_->may_give(*stream_);
}

void Channel::start_reading() {
  reading_ = true;
  if (stream_ != nullptr) deliver_later_.schedule();
}

void Channel::put_back(std::string_view rest) {
  kept_.insert(0, rest);
  kept_held_.set(kept_.size());
  deliver_later_.schedule();
}

void Channel::write(std::string bytes) {
  if (stream_ == nullptr || ending_writes_ || bytes.empty()) return;
  connection_->answer(*stream_, std::move(bytes));
}

void Channel::flush_now() {
  if (stream_ != nullptr) connection_->flush_now();
}

void Channel::charge(const AccountPtr& account) {
  account_ = account;
  kept_held_.charge(account);
  if (stream_ != nullptr) stream_->body.charge(account);
}

size_t Channel::backlog() const {
  if (stream_ == nullptr) return 0;
  // The end of an answer may wait in the library.
  return std::max<size_t>(stream_->body.size(), stream_->body.complete && !stream_->sent ? 1 : 0);
}

void Channel::end_writes() {
  ending_writes_ = true;
  // An answer without an end must not look complete.
  if (stream_ != nullptr && !stream_->body.complete) connection_->reset(*std::exchange(stream_, nullptr));
  if (stream_ == nullptr) end_later();
}

void Channel::close() {
  Http2Connection* connection = std::exchange(connection_, nullptr);
  Http2Stream* stream = std::exchange(stream_, nullptr);
  owner_ = nullptr;
  deliver_later_.cancel();
  if (connection == nullptr) return;
  if (stream != nullptr) connection->reset(*stream);
  connection->forget(*this);
}

int Channel::detach(std::unique_ptr<net::TlsSession>*) {
  if (stream_ == nullptr || backlog() > 0 || stream_->answering) return -1;
  std::array<int, 2> ends{};
  // The request was not served yet: the client may send it again.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    connection_->refuse(*std::exchange(stream_, nullptr));
    return -1;
  }
  if (!connection_->move_to_relay(*stream_, ends[0])) {
    ::close(ends[1]);
    return -1;
  }
  stream_ = nullptr;
  close();
  return ends[1];
}

const net::TlsSession* Channel::tls() const {
  return connection_ != nullptr ? connection_->tls() : nullptr;
}

bool Channel::peer_is_silent(std::chrono::milliseconds quiet) {
  return connection_ != nullptr && connection_->peer_is_silent(quiet);
}

uint16_t Channel::local_port() const {
  return connection_ != nullptr ? connection_->local_port() : 0;
}

void Channel::lose_connection() {
  connection_ = nullptr;
  leave();
}

void Channel::leave() {
  const Http2Stream* stream = std::exchange(stream_, nullptr);
  end(stream != nullptr && stream->too_slow ? -ETIMEDOUT : -ECONNRESET);
}

void Channel::finished(bool reusable) {
  stream_ = nullptr;
  if (reusable && !ending_writes_ && owner_ != nullptr) {
    connection_->keep(*this);
  } else {
    end_later();
  }
  if (owner_ != nullptr) owner_->on_drained();
}

void Channel::end(int error) {
  if (net::StreamCallbacks* owner = std::exchange(owner_, nullptr)) owner->on_end(error);
}

// The answer that was just completed may be on the stack.
void Channel::end_later() {
  loop_.defer(lifetime_, [this] { end(0); });
}

void Channel::drained() {
  if (owner_ != nullptr) owner_->on_drained();
}

}  // namespace lineward::client
