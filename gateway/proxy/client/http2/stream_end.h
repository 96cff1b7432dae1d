// The end of an HTTP/2 stream inside this process: a Channel to a client connection of this worker, or a
// Relay to one of another worker. Receives the request as the text of HTTP/1.1.
#pragma once

#include <string_view>

namespace lineward::client {

struct Http2Stream;

class StreamEnd {
 public:
  virtual ~StreamEnd() = default;
  // Serves this stream from here on, until leave() or finished().
  virtual void begin(Http2Stream& stream) = 0;
  // Bytes of the request. May replace the stream's end.
  virtual void give(std::string_view bytes) = 0;
  // Takes no more at the moment: Http2Connection::may_give() follows.
  virtual bool is_full() const = 0;
  // The client left before it had the whole answer. Destroys this.
  virtual void leave() = 0;
  // The client has the whole answer. `reusable`: this may serve another stream; else it is destroyed.
  virtual void finished(bool reusable) = 0;
  // The client has received all that was queued.
  virtual void drained() = 0;
};

}  // namespace lineward::client
