// A client's HTTP/2 connection, as a browser's network code has one beneath its requests. The client writes
// each request as HTTP/1.1 on a link of its own and reads the answer there; the request becomes a stream
// here. A link that ends before its answer resets its stream. RFC 9113.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "link.h"
#include "random.h"
#include "writer.h"

namespace lineward::sim {

class World;

class Http2Front : public std::enable_shared_from_this<Http2Front> {
 public:
  // `outer` leads to the gateway.
  static std::shared_ptr<Http2Front> open(World& world, std::shared_ptr<Link> outer, Random random);
  ~Http2Front();
  Http2Front(const Http2Front&) = delete;
  Http2Front& operator=(const Http2Front&) = delete;

  // A link for one request. At its gateway's side it is read when the gateway has read the stream's frames.
  std::shared_ptr<Link> stream();
  bool takes_streams() const;
  bool idle() const { return streams_.empty(); }
  bool is_on(const std::shared_ptr<Link>& outer) const { return outer_ == outer; }
  // The loss of the connection, which ends all its streams.
  void close(bool reset);

 private:
  struct Stream {
    std::shared_ptr<Link> link;
    int32_t id = -1;
    uint64_t head = 0, body = 0;  // lengths of the request
    uint64_t framed = 0;          // of the body
    uint64_t taken = 0;           // of both, from the link
    uint64_t untaken = 0;         // framed, not yet marked to be taken
    bool left = false;            // the client has gone
    bool tells_left = false;      // the reset is to be marked
    int status = 0;
    std::string fields;  // of the answer, as lines
    bool has_length = false, chunked = false, complete = false;
    std::string waiting;  // for room in the link
    uint64_t credit = 0;  // bytes that the window gets back when nothing waits
    bool over = false, broken = false;
  };
  Http2Front(World& world, std::shared_ptr<Link> outer, Random random);
  void begin();
  void read();
  void read_request(const Link* link);
  void submit(Stream& stream, std::string_view head);
  void deliver(Stream& stream);
  void stream_over(Stream& stream, uint32_t error);
  void flush();
  void lose_all();
  void sweep();

  World& world_;
  std::shared_ptr<Link> outer_;
  std::unique_ptr<Writer> out_;
  Random random_;
  nghttp2_session* session_ = nullptr;
  std::map<const Link*, std::shared_ptr<Stream>> streams_;
  bool going_ = false, gone_ = false, flushing_ = false;
  friend struct Http2Callbacks;
};

}  // namespace lineward::sim
