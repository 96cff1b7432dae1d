// foundation/net/byte_stream.h over a Link. Promises to owners are as in the real one: no callback from
// inside write(), one on_end, and queued bytes go out once per turn.
#include "foundation/net/byte_stream.h"

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/base/string_pool.h"
#include "foundation/net/tls_session.h"
#include "link.h"
#include "world.h"

namespace lineward::net {
namespace {

using sim::world;

// The open streams by descriptor: a World's table would be asked too often.
struct Open {
  std::shared_ptr<sim::Link> link;
  bool reads_later = false;
};
std::map<int, Open>& open_streams() {
  static std::map<int, Open> all;
  return all;
}
Open* find(int fd) {
  auto found = open_streams().find(fd);
  return found == open_streams().end() ? nullptr : &found->second;
}

}  // namespace

struct ByteStream::WriteRequest {};
struct ByteStream::Tls {};  // no listener of this world speaks TLS

// Bytes that were put back: they are given again at the same moment, after what else is due then.
struct ByteStream::Rest {
  std::string bytes;
};

Result<std::unique_ptr<ByteStream>> ByteStream::from_pipe(Loop& loop, int fd) {
  auto link = world().take(fd);
  if (!link) return fail("cannot use a pipe: there is none");
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  ++world().open_handles;
  stream->pipe_.open(stream.get(), [](uv_pipe_t*) { return 0; });
  stream->socket_ = fd;
  link->to_gateway.reader_home = link->from_gateway.writer_home = world().home();
  open_streams()[fd] = {std::move(link), false};
  return stream;
}

Result<std::unique_ptr<ByteStream>> ByteStream::from_socket(Loop& loop, int fd) {
  auto link = world().take(fd);
  if (!link) return fail("cannot use a socket: there is none");
  std::unique_ptr<ByteStream> stream(new ByteStream(loop));
  ++world().open_handles;
  stream->tcp_.open(stream.get(), [](uv_tcp_t*) { return 0; });
  stream->socket_ = fd;
  link->to_gateway.reader_home = link->from_gateway.writer_home = world().home();
  open_streams()[fd] = {std::move(link), false};
  return stream;
}

ByteStream::ByteStream(Loop& loop)
    : loop_(loop),
      flush_later_(
          loop, [](void* self) { static_cast<ByteStream*>(self)->flush(); }, this) {}

ByteStream::~ByteStream() {
  close();
}

void ByteStream::set_owner(StreamCallbacks* owner) {
  owner_ = owner;
}

bool ByteStream::speak_tls(std::unique_ptr<TlsSession>) {
  return false;
}

const TlsSession* ByteStream::tls() const {
  return nullptr;
}

int ByteStream::detach(std::unique_ptr<TlsSession>*) {
  flush_now();
  if (writing_ || !queue_.empty() || ended_ || rest_ || ending_writes_ || closed()) return -1;
  auto link = find(socket_)->link;
  link->to_gateway.on_ready = nullptr;
  link->from_gateway.on_room = nullptr;
  open_streams().erase(socket_);
  socket_ = -1;
  close();
  return world().put(std::move(link));
}

std::optional<uint32_t> ByteStream::peer_uid() const {
  return std::nullopt;
}

// Machines of this world stand still, and go on: none is gone without a word.
bool ByteStream::peer_is_silent(milliseconds) {
  return false;
}

uint16_t ByteStream::local_port() const {
  return 0;
}

size_t ByteStream::backlog() const {
  return backlog_;
}

int ByteStream::try_send() {
  Open* open = find(socket_);
  sim::Way& way = open->link->from_gateway;
  while (!queue_.empty()) {
    if (open->link->to_gateway.broken()) return -ECONNRESET;
    if (way.reader_gone() && pipe_) return -EPIPE;
    std::string& piece = queue_.front();
    size_t sent = piece.size() - gone_;
    if (way.reader_gone()) {
      // The first bytes after the other side's end go out, and are answered with a reset.
      open->link->to_gateway.reset();
    } else {
      sent = way.write(std::string_view(piece).substr(gone_));
    }
    if (sent == 0) return 0;
    backlog_ -= sent;
    sent_ += sent;
    if (gone_ + sent < piece.size()) {
      gone_ += sent;
      return 0;
    }
    gone_ = 0;
    StringPool::give(queue_.pop());
  }
  return 0;
}

void ByteStream::flush_now() {
  if (writing_ || ended_ || closed()) return;
  if (try_send() != 0) schedule_flush();
}

void ByteStream::flush() {
  if (closed() || writing_) return;
  if (!queue_.empty()) {
    const int error = try_send();
    if (error != 0) {
      drop_queue();
      if (last_bytes_) return loop_.last_writers_.done(*this);
      return ended(error);
    }
    if (!queue_.empty()) {
      writing_ = true;
      const int fd = socket_;
      find(fd)->link->from_gateway.on_room = [this, fd] {
        if (find(fd) == nullptr || !writing_) return;
        writing_ = false;
        flush();
      };
      return;
    }
  }
  all_sent();
}

void ByteStream::shut() {
  find(socket_)->link->from_gateway.end();
}

void ByteStream::close() {
  owner_ = nullptr;
  reading_ = false;
  drop_queue();
  if (Open* open = find(socket_)) {
    sim::Link& link = *open->link;
    link.to_gateway.on_ready = nullptr;
    link.from_gateway.on_room = nullptr;
    link.gateway_closed = true;
    link.gateway_closed_at = world().now();
    link.from_gateway.end();
    link.to_gateway.close_reader();
    open_streams().erase(socket_);
  }
  socket_ = -1;
  watched_ = 0;
  pipe_.close();
  tcp_.close();
}

void ByteStream::put_back(std::string_view rest) {
  if (closed() || ended_) return;
  if (!rest_) rest_ = std::make_unique<Rest>();
  if (rest_->bytes.empty()) rest_->bytes = rest;
  const int fd = socket_;
  if (!reading_) return;
  world().at_home(world().home(), world().now(), [this, fd] {
    if (find(fd) != nullptr && rest_ && reading_) give_rest();
  });
}

void ByteStream::give_rest() {
  const std::unique_ptr<Rest> rest = std::move(rest_);
  const int fd = socket_;
  const Lifetime::Watch here = lifetime_.watch();
  if (!rest->bytes.empty() && owner_ != nullptr) owner_->on_data(rest->bytes);
  if (here.gone() || closed() || socket_ != fd || rest_ || !reading_) return;
  sim::Way& way = find(fd)->link->to_gateway;
  if (!way.ready().empty() || way.at_end() || way.broken()) way.on_ready();
}

void ByteStream::start_reading() {
  if (reading_ || ended_ || closed()) return;
  reading_ = true;
  if (rest_) put_back({});
  const int fd = socket_;
  Open* open = find(fd);
  open->link->to_gateway.on_ready = [this, fd] {
    Open* here = find(fd);
    if (here == nullptr || here->reads_later || !reading_) return;
    here->reads_later = true;
    // Simultaneous bytes are read at once.
    world().at_home(world().home(), world().now(), [this, fd] {
      Open* later = find(fd);
      if (later == nullptr) return;
      later->reads_later = false;
      if (reading_) receive();
    });
  };
  const sim::Way& way = open->link->to_gateway;
  if (!way.ready().empty() || way.at_end() || way.broken()) open->link->to_gateway.on_ready();
}

void ByteStream::pause_reading() {
  reading_ = false;
}

void ByteStream::receive() {
  const int fd = socket_;
  Open* open = find(fd);
  auto link = open->link;
  sim::Way& way = link->to_gateway;
  if (rest_) return;  // comes before anything else
  if (way.broken()) return ended(-ECONNRESET);
  if (!way.ready().empty()) {
    constexpr size_t kMost = 64 * 1024;
    std::string bytes(way.ready().substr(0, kMost));
    loop_.note_read();
    const Lifetime::Watch here = lifetime_.watch();
    // Marks in the way are for judges: they see the moment in which the gateway reads.
    way.take(bytes.size());
    if (owner_) owner_->on_data(bytes);
    if (here.gone() || closed() || socket_ != fd) return;
    if (!reading_) return;
    if (!way.ready().empty() || way.at_end() || way.broken()) way.on_ready();
    return;
  }
  if (way.at_end()) ended(0);
}

void ByteStream::ended(int error) {
  if (ended_) return;
  ended_ = true;
  if (Open* open = find(socket_)) open->link->gateway_saw_end = world().now();
  pause_reading();
  if (last_bytes_) return;
  if (owner_) owner_->on_end(error);
}

bool ByteStream::quiet() const {
  if (closed() || ended_ || rest_) return false;
  const sim::Way& way = find(socket_)->link->to_gateway;
  return way.ready().empty() && !way.at_end() && !way.broken();
}

}  // namespace lineward::net
