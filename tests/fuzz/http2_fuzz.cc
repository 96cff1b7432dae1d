// A hostile HTTP/2 client, and ends of streams that do whatever they may, at any time. The bytes are both:
// what the client sends, well-formed or not, and what happens inside. Each stream must become one request of
// HTTP/1.1 at most, no end may hear of a stream twice, and nothing may be left when the connection is gone.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/log/log.h"
#include "foundation/net/loop.h"
#include "http2_input.h"
#include "protocol/http/request_parser.h"
#include "protocol/http/writer.h"
#include "proxy/client/http2/channel.h"
#include "proxy/client/http2/http2_connection.h"

using namespace lineward;
using namespace lineward::fuzz;
using namespace lineward::client;

namespace {

// The socket.
class Wire final : public net::Stream {
 public:
  void set_owner(net::StreamCallbacks* owner) override { owner_ = owner; }
  void start_reading() override {}
  void pause_reading() override {}
  bool reading() const override { return true; }
  void put_back(std::string_view) override {}
  void write(std::string bytes) override { backlog_ += bytes.size(); }
  void flush_now() override {}
  void charge(const AccountPtr&) override {}
  size_t backlog() const override { return backlog_; }
  void end_writes() override {}
  void close() override { owner_ = nullptr; }
  int detach(std::unique_ptr<net::TlsSession>*) override { return -1; }
  const net::TlsSession* tls() const override { return nullptr; }
  bool peer_is_silent(std::chrono::milliseconds) override { return false; }
  uint16_t local_port() const override { return 1; }

  void receive(std::string_view bytes) {
    if (owner_ != nullptr) owner_->on_data(bytes);
  }
  void drain() {
    if (std::exchange(backlog_, 0) > 0 && owner_ != nullptr) owner_->on_drained();
  }
  void end() {
    if (owner_ != nullptr) owner_->on_end(0);
  }

 private:
  net::StreamCallbacks* owner_ = nullptr;
  size_t backlog_ = 0;
};

// The client connection of a channel.
struct Peer final : net::StreamCallbacks {
  Peer(net::Loop& its_loop, std::unique_ptr<Channel> its_channel)
      : loop(its_loop), channel(std::move(its_channel)), parser(http::RequestLimits{}) {
    channel->set_owner(this);
    channel->start_reading();
  }
  void on_data(std::string_view bytes) override {
    LW_CHECK(!ended);
    parser.append(bytes);
    for (;;) {
      const auto next = parser.next();
      if (next == http::RequestParser::Next::head) {
        LW_CHECK(!busy);
        busy = true;
        continue;
      }
      if (next == http::RequestParser::Next::complete) parser.take_body();
      if (next == http::RequestParser::Next::failed) channel->end_writes();
      return;
    }
  }
  void on_end(int) override {
    LW_CHECK(!ended);
    ended = true;
    close();
  }
  void close() {
    if (channel == nullptr) return;
    channel->close();
    loop.retire(std::move(channel));
  }

  void act(Input& input) {
    if (channel == nullptr) return;
    http::ResponseHead head;
    head.content_type = "text/plain";
    switch (input.byte() % 9) {
      case 0: return answer(http::full_response(head, std::string(input.byte() * 300, 'b')));
      case 1: return begin(http::streaming_head(head));
      case 2: return piece(http::body_piece(std::string(1 + input.byte() * 300, 'p'), 1));
      case 3:
        if (streaming) answer(http::body_end(1));
        return;
      case 4: return close();
      case 5: return channel->end_writes();
      case 6: return channel->pause_reading();
      case 7: return channel->start_reading();
      case 8: return channel->flush_now();
    }
  }
  void begin(std::string text) {
    if (!busy || std::exchange(streaming, true)) return;
    channel->write(std::move(text));
  }
  void piece(std::string text) {
    if (streaming) channel->write(std::move(text));
  }
  void answer(std::string text) {
    if (!busy || parser.phase() != http::RequestParser::Phase::complete) return;
    if (streaming != (text == http::body_end(1))) return;
    busy = streaming = false;
    parser.next_request();
    channel->write(std::move(text));
  }

  net::Loop& loop;
  std::unique_ptr<Channel> channel;
  http::RequestParser parser;
  bool busy = false, streaming = false, ended = false;
};

class World final : Http2Owner {
 public:
  World() {
    limits_.max_streams = 8;
    auto wire = std::make_unique<Wire>();
    wire_ = wire.get();
    connection_ = std::make_unique<Http2Connection>(loop_, limits_, static_cast<Http2Owner&>(*this),
                                                    std::move(wire), "1", nullptr);
    connection_->begin({});
    send(std::string(http2::kPreface) + frame(4, 0, 0, {}));
  }
  ~World() {
    if (connection_ != nullptr) connection_->cut();
    turn();
    for (const auto& peer : peers_)
      LW_CHECK(peer->channel == nullptr);
    peers_.clear();
    loop_.close_all();
  }

  void step(Input& input) {
    if (connection_ == nullptr) return;
    switch (input.byte() % 10) {
      case 0: return send(std::string(input.take(input.byte())));
      case 1:
      case 2: return send_head(input);
      case 3: {
        const uint8_t flags = input.byte(), id = input.byte();
        return send(frame(0, flags & 1, id % 32 | 1, std::string(input.byte() * 64, 'd')));
      }
      case 4: return send(frame(3, 0, input.byte() % 32 | 1, std::string("\0\0\0\x08", 4)));
      case 5: return send(frame(8, 0, input.byte() % 32, std::string("\0\1\0\0", 4)));
      case 6:
        return send(frame(input.byte() % 12, input.byte(), input.byte() % 32,
                          std::string(input.take(input.byte() % 64))));
      case 7: {
        if (peers_.empty()) return;
        return peers_[input.byte() % peers_.size()]->act(input);
      }
      case 8: return turn();
      case 9:
        switch (input.byte() % 8) {
          case 0: return connection_->announce_end();
          case 1: return connection_->end_when_idle();
          case 2: return wire_->end();
          case 3: refuses_ = !refuses_; return;
          default: return wire_->drain();
        }
    }
  }

 private:
  void send_head(Input& input) {
    const uint8_t form = input.byte();
    std::string block;
    block += (form & 1) != 0 ? '\x83' : '\x82';  // POST, GET
    block += '\x86';                             // http
    block += '\x84';                             // /
    block += std::string("\x01\x01x", 3);        // :authority
    if ((form & 2) != 0) field(block, "x-name", input.take(input.byte() % 64));
    if ((form & 4) != 0) field(block, input.take(input.byte() % 16), input.take(input.byte() % 16));
    if ((form & 8) != 0) field(block, "content-length", "5");
    const uint32_t id = (form & 16) != 0 ? input.byte() : next_id_;
    next_id_ = std::max(next_id_, id) + 2;
    const uint8_t ends = (form & 32) != 0 ? 0 : 1;
    send(frame(1, static_cast<uint8_t>(((form & 64) != 0 ? 0 : 4) | ends), id | 1, block));
  }
  void send(const std::string& bytes) {
    if (connection_ != nullptr) wire_->receive(bytes);
  }
  void turn() { loop_.close_deferred(); }

  bool on_channel(Http2Connection&, std::unique_ptr<Channel> channel) override {
    if (refuses_) return false;
    peers_.push_back(std::make_unique<Peer>(loop_, std::move(channel)));
    return true;
  }
  void on_closed(Http2Connection&) override {
    LW_CHECK(connection_ != nullptr);
    loop_.retire(std::move(connection_));
  }

  net::Loop loop_;
  config::Listen limits_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unique_ptr<Http2Connection> connection_;
  Wire* wire_ = nullptr;
  uint32_t next_id_ = 1;
  bool refuses_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  log::set_level(log::Level::error);
  World world;
  Input input({reinterpret_cast<const char*>(data), size});
  for (int steps = 0; !input.empty() && steps < 400; ++steps)
    world.step(input);
  return 0;
}
