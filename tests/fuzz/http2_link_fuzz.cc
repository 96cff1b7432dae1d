// A hostile HTTP/2 server, and readers of its streams that do whatever they may, at any time. The bytes are
// both: what the server sends, well-formed or not, and what happens inside. A reader gets one response of
// HTTP/1.1, and hears nothing of its stream after the end. All of it is gone with the connection.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/log/log.h"
#include "foundation/net/loop.h"
#include "http2_input.h"
#include "protocol/http/response_parser.h"
#include "proxy/upstream/http_client/http2_link.h"

using namespace lineward;
using namespace lineward::fuzz;
using namespace lineward::upstream;

namespace {

struct Reader final : net::StreamCallbacks {
  explicit Reader(std::unique_ptr<LinkStream> its_stream)
      : stream(std::move(its_stream)), parser(http::ResponseLimits{}) {
    parser.begin();
    stream->set_owner(this);
  }
  void on_data(std::string_view bytes) override {
    LW_CHECK(asked && !ended && stream != nullptr);
    parser.append(bytes);
    read();
  }
  void on_end(int error) override {
    LW_CHECK(!std::exchange(ended, true));
    if (error == 0) {
      parser.finish();
      read();
      LW_CHECK(complete || refused);
    }
  }
  void read() {
    while (!complete && !refused) {
      switch (parser.next()) {
        case http::ResponseParser::Next::need_more: return;
        case http::ResponseParser::Next::head: break;
        case http::ResponseParser::Next::body: parser.body(); break;
        case http::ResponseParser::Next::complete:
          complete = true;
          stream->answered();
          break;
        case http::ResponseParser::Next::failed:
          LW_CHECK(parser.too_long() || parser.head_too_long() ||
                   parser.fault().find("fields") != std::string::npos);
          refused = true;
      }
    }
  }
  void act(Input& input, net::Loop& loop) {
    if (stream == nullptr) return;
    switch (input.byte() % 6) {
      case 0:
        if (!std::exchange(asked, true))
          stream->write("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
        return;
      case 1:
        if (!std::exchange(asked, true)) {
          const size_t size = size_t{input.byte()} * 4000;
          stream->write("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) +
                        "\r\n\r\n" + std::string(size, 'x'));
        }
        return;
      case 2: return stream->pause_reading();
      case 3: return stream->start_reading();
      default: stream->close(); loop.retire(std::move(stream));
    }
  }

  std::unique_ptr<LinkStream> stream;
  http::ResponseParser parser;
  bool asked = false, ended = false, complete = false, refused = false;
};

class World final : Http2LinkOwner {
 public:
  World() {
    LW_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()) == 0);
    auto socket = net::ByteStream::from_socket(loop_, ends_[0]);
    LW_CHECK(socket);
    Http2Link::Parts parts;
    parts.socket = std::move(*socket);
    parts.address = "a:1";
    parts.deadline = std::chrono::hours(1);
    link_ = std::make_unique<Http2Link>(loop_, static_cast<Http2LinkOwner&>(*this), std::move(parts),
                                        http::ResponseLimits{});
    link_->begin();
    receive(frame(4, 0, 0, {}));
  }
  ~World() {
    if (link_ != nullptr) link_->cut();
    turn();
    for (auto& reader : readers_) {
      LW_CHECK(reader->stream == nullptr || reader->ended || !reader->asked);
      reader->stream.reset();
    }
    readers_.clear();
    loop_.close_all();
    ::close(ends_[1]);
  }

  void step(Input& input) {
    if (link_ == nullptr) return;
    switch (input.byte() % 10) {
      case 0: return receive(std::string(input.take(input.byte())));
      case 1: return receive_head(input);
      case 2: {
        const uint8_t flags = input.byte(), id = input.byte();
        return receive(frame(0, flags & 1, id % 32 | 1, std::string(size_t{input.byte()} * 64, 'd')));
      }
      case 3:
        return receive(frame(3, 0, input.byte() % 32 | 1,
                             std::string("\0\0\0", 3) + static_cast<char>(input.byte() % 14)));
      case 4: return receive(frame(8, 0, input.byte() % 32, std::string("\0\1\0\0", 4)));
      case 5:
        return receive(frame(4, 0, 0, std::string("\0\3\0\0\0", 5) + static_cast<char>(input.byte() % 4)));
      case 6:
        return receive(frame(input.byte() % 12, input.byte(), input.byte() % 32,
                             std::string(input.take(input.byte() % 64))));
      case 7:
        if (readers_.empty()) return;
        return readers_[input.byte() % readers_.size()]->act(input, loop_);
      case 8:
        if (link_->room() > 0 && readers_.size() < 64)
          readers_.push_back(std::make_unique<Reader>(link_->open()));
        return;
      case 9:
        switch (input.byte() % 6) {
          case 0: return link_->end_when_idle();
          case 1: return drain();
          default: return turn();
        }
    }
  }

 private:
  void receive_head(Input& input) {
    const uint8_t form = input.byte();
    std::string block;
    if ((form & 1) != 0) block += '\x88';  // :status 200
    if ((form & 1) == 0) field(block, ":status", input.take(3));
    if ((form & 2) != 0) field(block, "content-length", "5");
    if ((form & 4) != 0) field(block, input.take(input.byte() % 16), input.take(input.byte() % 16));
    const uint8_t flags = static_cast<uint8_t>(((form & 8) != 0 ? 0 : 4) | ((form & 16) != 0 ? 1 : 0));
    receive(frame(1, flags, input.byte() % 32 | 1, block));
  }
  void receive(const std::string& bytes) {
    if (link_ != nullptr) link_->receive(bytes);
  }
  void turn() { loop_.close_deferred(); }
  void drain() {
    std::array<char, 65536> bytes{};
    while (recv(ends_[1], bytes.data(), bytes.size(), 0) > 0) {
    }
  }

  void on_link_room() override {}
  bool on_link_idle() override { return true; }
  void on_link_http1() override {}
  std::chrono::milliseconds link_idle_timeout() const override { return std::chrono::minutes(1); }
  void on_link_over(Http2Link& link) override {
    LW_CHECK(link_.get() == &link);
    loop_.retire(std::move(link_));
  }

  net::Loop loop_;
  std::array<int, 2> ends_{};
  std::unique_ptr<Http2Link> link_;
  std::vector<std::unique_ptr<Reader>> readers_;
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
