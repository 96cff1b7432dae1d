#include "proxy/client/http2/relay.h"

#include <string>
#include <utility>

#include "proxy/client/http2/http2_connection.h"
#include "proxy/client/http2/http2_stream.h"

namespace lineward::client {
namespace {

// Above it, the other side is held back.
constexpr size_t kMostQueued = 256 * 1024;

}  // namespace

Relay::Relay(Http2Connection& connection, std::unique_ptr<net::ByteStream> socket)
    : connection_(connection), socket_(std::move(socket)) {
  socket_->set_owner(this);
  socket_->start_reading();
}

void Relay::begin(Http2Stream& stream) {
  stream_ = &stream;
  path_ = stream.path;
  stream.body.charge(connection_.account());
}

size_t Relay::backlog() const {
  return stream_ != nullptr ? stream_->body.size() : 0;
}

void Relay::give(std::string_view bytes) {
  socket_->write(std::string(bytes));
}

bool Relay::is_full() const {
  return socket_->backlog() > kMostQueued;
}

void Relay::leave() {
  stream_ = nullptr;
  socket_->close();
  connection_.forget(*this);
}

void Relay::finished(bool reusable) {
  if (!reusable) return leave();
  stream_ = nullptr;
  drained();
}

void Relay::drained() {
  if (!socket_->reading()) socket_->start_reading();
}

void Relay::on_data(std::string_view bytes) {
  // Only an answer may come, and a goodbye of a connection that was idle for too long is not one.
  if (stream_ == nullptr) return leave();
  connection_.answer(*stream_, std::string(bytes));
  if (stream_ != nullptr && stream_->body.size() > kMostQueued) socket_->pause_reading();
}

// An error says that bytes of the request were not read: the other worker has closed an idle connection, and
// its client may send the request again.
void Relay::on_end(int error) {
  Http2Stream* stream = std::exchange(stream_, nullptr);
  // A whole answer may still be on its way to the client.
  if (stream != nullptr && stream->body.complete) {
    stream->end = nullptr;
  } else if (stream != nullptr && error != 0 && !stream->answering) {
    connection_.refuse(*stream);
  } else if (stream != nullptr) {
    connection_.reset(*stream);
  }
  leave();
}

void Relay::on_drained() {
  if (stream_ != nullptr) connection_.may_give(*stream_);
}

}  // namespace lineward::client
