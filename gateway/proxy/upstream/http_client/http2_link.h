// An HTTP/2 connection to a server (RFC 9113), shared by many requests. Each of its streams is what a
// connection of HTTP/1.1 is to an HttpConnection.
//
//   net::ByteStream (+ TlsEngine) ── Http2Link ── LinkStream ── HttpConnection ── HttpTransfer
//
// Owned by the Http2Links of a pool, which retires it after on_link_over().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/stream_answer.h"
#include "protocol/http2/body_queue.h"
#include "protocol/http2/session.h"
#include "proxy/upstream/http_client/link_stream.h"

namespace lineward::upstream {

// A stream that the library knows.
struct LinkEntry {
  explicit LinkEntry(LinkStream& its_stream) : stream(&its_stream) {}

  LinkStream* stream;  // null: its reader has gone
  int32_t id = 0;
  http2::BodyQueue body;                     // of the request
  std::unique_ptr<http::StreamAnswer> head;  // that is being read
  std::chrono::milliseconds begun_at{0};
  std::chrono::milliseconds left_at{0};  // since then only the end of its answer is awaited
  uint64_t mark = 0;                     // bytes that the socket had to send before the request
  std::string invalid;                   // what the library said about the server's frames
  bool has_head = false;                 // the final one
  bool sent = false;                     // the request's head
  bool sent_all = false;
  bool ended = false;      // by the server
  bool was_reset = false;  // likewise
  bool resets = false;     // by this side
};

class Http2LinkOwner {
 public:
  // A stream has ended, or the server allows more of them.
  virtual void on_link_room() = 0;
  // No stream is left. False: there are enough idle connections.
  virtual bool on_link_idle() = 0;
  // The server requires HTTP/1.1.
  virtual void on_link_http1() = 0;
  // How long it may be idle.
  virtual std::chrono::milliseconds link_idle_timeout() const = 0;
  // Closed; must be retired. Failures of its streams may follow.
  virtual void on_link_over(Http2Link& link) = 0;

 protected:
  ~Http2LinkOwner() = default;
};

class Http2Link final : private net::StreamCallbacks, private http2::SessionEvents {
 public:
  // Streams of one connection, whatever the server allows.
  static constexpr size_t kMostStreams = 128;

  struct Parts {
    std::unique_ptr<net::ByteStream> socket;
    std::unique_ptr<net::TlsEngine> tls;  // null: plain
    std::shared_ptr<void> lease;          // kept as long as the connection
    std::string address;
    std::chrono::milliseconds deadline{0};  // for the server's first frame
    std::chrono::milliseconds connect_limit{0};
    std::chrono::milliseconds quiet{5000};  // nine times as long, and its server is gone (peer_silence.h)
  };

  Http2Link(net::Loop& loop, Http2LinkOwner& owner, Parts parts, const http::ResponseLimits& limits);
  ~Http2Link();
  Http2Link(const Http2Link&) = delete;
  Http2Link& operator=(const Http2Link&) = delete;

  // Once, before it is used.
  void begin();
  // Bytes that came with the handshake.
  void receive(std::string_view plain) { read(plain); }

  const std::string& address() const { return address_; }
  // How many more streams it may have now.
  size_t room() const;
  // The server has not yet said how many streams it allows.
  bool is_new() const { return !has_settings_ && socket_ != nullptr; }
  // As the server says; kMostStreams at most.
  size_t most_streams() const;
  bool is_idle() const { return entries_.empty() && reserved_.empty(); }
  // A stream, with a place of its own. There is room.
  std::unique_ptr<LinkStream> open();
  // No further stream begins; ends with the last one.
  void end_when_idle();
  // Without any farewell to its streams: all of them are closed already.
  void cut();

  // For LinkStream.
  void request(LinkStream& stream, std::string text);
  void credit(LinkEntry& entry, size_t bytes);
  void close(LinkStream& stream);

 private:
  void on_data(std::string_view bytes) override;
  void on_end(int error) override;
  void on_drained() override;

  void on_head_begins(int32_t id, bool first) override;
  bool on_field(int32_t id, bool first, std::string_view name, std::string_view value) override;
  void on_head(int32_t id, bool first, bool ends) override;
  void on_body(int32_t id, std::string_view bytes) override;
  void on_body_end(int32_t id) override;
  void on_body_taken(int32_t) override {}
  void on_end_sent(int32_t id) override;
  void on_stream_closed(int32_t id, uint32_t code) override;
  void on_head_sent(int32_t id) override;
  void on_head_not_sent(int32_t id) override;
  void on_reset(int32_t id, uint32_t code) override;
  void on_invalid(int32_t id, std::string_view why) override;
  void on_settings() override;
  void on_goaway(uint32_t code) override;

  LinkEntry* find(int32_t id);
  void read(std::string_view plain);
  void reset(LinkEntry& entry, uint32_t code);
  LinkLoss loss_of(const LinkEntry& entry, uint32_t code);
  void doubt(const LinkEntry& entry);
  bool got_nothing(const LinkEntry& entry) const;
  void later() { run_later_.schedule(); }
  void run();
  void flush();
  void write(std::string bytes);
  void fail(http2::Session::Fault fault);
  void say_last(uint32_t code);
  void finish();
  void lose(const LinkLoss& why);
  void shut();
  bool is_full() const;
  bool awaits_only_room() const;
  void give_up(LinkEntry& entry);
  void watch();
  void check();

  net::Loop& loop_;
  Http2LinkOwner& owner_;
  std::unique_ptr<net::ByteStream> socket_;  // null: closed
  std::unique_ptr<net::TlsEngine> tls_;
  std::shared_ptr<void> lease_;
  const std::string address_;
  const std::chrono::milliseconds deadline_, connect_limit_, quiet_;
  const http::ResponseLimits limits_;
  http2::Session session_;
  std::unordered_map<int32_t, std::unique_ptr<LinkEntry>> entries_;
  std::vector<LinkStream*> reserved_;  // streams without a request yet
  std::vector<int32_t> sent_all_;      // requests that the socket is about to have sent
  std::string goaway_;                 // the server's words, for errors
  std::string invalid_;                // likewise of the library
  size_t unsent_ = 0;                  // requests without a head that is sent
  uint64_t mark_ = 0;
  std::chrono::milliseconds heard_at_{0}, idle_at_{0}, due_{0};
  std::chrono::milliseconds look_at_{0};  // with entries: whether the server is gone
  bool has_settings_ = false;
  bool was_heard_ = false;
  bool closing_ = false;
  bool any_left_ = false;      // a stream's end alone is awaited
  bool is_saturated_ = false;  // the server has refused a stream
  bool is_doubtful_ = false;   // it has not answered for long: until it answers a PING, it gets no stream
  net::Timer timer_;
  net::Deferred run_later_;
};

}  // namespace lineward::upstream
