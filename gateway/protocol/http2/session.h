// A side of an HTTP/2 connection (RFC 9113): nghttp2, behind http::FrameGate. Bytes in, bytes out; no sockets
// and no clock.
//
// Owned by one connection, which is its SessionEvents. They are called from feed() and output() alone. They
// may use the nghttp2_submit_* functions and nghttp2_session_consume*() meanwhile, and must not destroy this.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/http/frame_gate.h"
#include "protocol/http2/body_queue.h"

namespace lineward::http2 {

// The bytes that every connection begins with (RFC 9113, 3.4). No method of HTTP/1.1 begins like that.
inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class SessionEvents {
 public:
  // A head: `first` is the stream's first one. Others are trailers, or follow an interim response.
  virtual void on_head_begins(int32_t id, bool first) = 0;
  // False: the head is larger than anything that is read to its end.
  virtual bool on_field(int32_t id, bool first, std::string_view name, std::string_view value) = 0;
  virtual void on_head(int32_t id, bool first, bool ends) = 0;
  // The bytes have to be consumed.
  virtual void on_body(int32_t id, std::string_view bytes) = 0;
  virtual void on_body_end(int32_t id) = 0;
  // Part of a body was taken to be sent.
  virtual void on_body_taken(int32_t id) = 0;
  virtual void on_end_sent(int32_t id) = 0;
  virtual void on_stream_closed(int32_t id, uint32_t code) = 0;

  // Only a client needs these:
  virtual void on_head_sent(int32_t) {}
  virtual void on_head_not_sent(int32_t) {}
  virtual void on_reset(int32_t, uint32_t) {}
  virtual void on_invalid(int32_t, std::string_view) {}
  virtual void on_settings() {}
  virtual void on_goaway(uint32_t) {}

 protected:
  ~SessionEvents() = default;
};

class Session {
 public:
  enum class Side : uint8_t { server, client };
  using Fault = http::FrameGate::Fault;
  static uint32_t goaway_code(Fault fault);

  // `head_bytes`: of a compressed head of the peer.
  Session(Side side, SessionEvents& events, size_t head_bytes);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  nghttp2_session* raw() const { return session_; }
  // Received bytes. After a fault the peer gets GOAWAY with its code, and nothing more is fed.
  std::optional<Fault> feed(std::string_view bytes, std::chrono::milliseconds now);
  // The library's words for Fault::protocol.
  std::string_view protocol_error() const { return protocol_error_; }
  // The next bytes for the peer, valid until the next call. Empty: none.
  std::string_view output();
  // feed() or output() is on the stack.
  bool is_busy() const { return busy_; }
  bool awaits_preface() const { return preface_left_ > 0; }
  bool in_head() const { return gate_.in_head(); }
  // A stream came to its end: the peer may reset another one.
  void answered() { gate_.answered(); }

  // A field as the library takes it; refers to both texts. Secret ones stay out of the compression table.
  static nghttp2_nv field(std::string_view name, std::string_view value);
  static nghttp2_data_provider source(BodyQueue& body);
  // More is in the queue, or its end.
  void resume(int32_t id, BodyQueue& body);

 private:
  struct Library;

  SessionEvents& events_;
  nghttp2_session* session_ = nullptr;
  http::FrameGate gate_;
  size_t preface_left_;
  bool busy_ = false;
  bool pushed_ = false;
  std::string_view protocol_error_;
};

}  // namespace lineward::http2
