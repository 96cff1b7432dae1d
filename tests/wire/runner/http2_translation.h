// HTTP/2 for scripts that were written for HTTP/1.1: what a client sends becomes streams, what the gateway
// answers becomes the text of HTTP/1.1 again, in the order of the requests. WIRE_TRANSPORT=h2 and h2c use it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

struct nghttp2_session;

namespace lineward::wire {

class Http2Translation {
 public:
  explicit Http2Translation(std::string scheme);
  ~Http2Translation();
  Http2Translation(const Http2Translation&) = delete;
  Http2Translation& operator=(const Http2Translation&) = delete;

  // Text of HTTP/1.1. Throws WireError when it has no form in HTTP/2.
  void send(std::string_view text);
  // Bytes of the gateway. `text` gets what they mean.
  void receive(std::string_view bytes, std::string& text);
  // Bytes for the gateway, at most once each; "" when there are none.
  std::string take_frames();
  // Bytes of a body wait for the gateway's flow control.
  bool has_unsent() const;
  // RST_STREAM(CANCEL) for each stream that is open.
  void reset_streams();
  // The gateway reset the stream of the next answer: in HTTP/1.1 its connection would have ended.
  bool is_cut() const { return cut_; }

 private:
  struct Stream;
  struct Callbacks;

  void begin_request(std::string_view head);
  bool take_chunk_size(Stream& one);  // false: more bytes are needed
  void emit(std::string& text);

  const std::string scheme_;
  nghttp2_session* session_ = nullptr;
  std::map<int, std::unique_ptr<Stream>> streams_;
  std::deque<int> order_;  // streams that have no whole answer yet, oldest first
  std::string unsent_;     // of a head, or of a chunk, that is not complete
  Stream* sending_ = nullptr;
  bool cut_ = false;
};

}  // namespace lineward::wire
