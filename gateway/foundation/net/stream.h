// A stream of bytes between a peer and its owner. ByteStream is a socket or pipe; a stream of an HTTP/2
// connection is another (proxy/client/http2/channel.h).
//
// Owned by exactly one object, its StreamCallbacks. There is no callback from inside write(), and none after
// close(). The owner may destroy the stream from inside any callback.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/account.h"

namespace lineward::net {

class TlsSession;

class StreamCallbacks {
 public:
  virtual void on_data(std::string_view bytes) = 0;
  // The peer ended the stream: error is 0 for an orderly end, else a negative errno. Called once; no data
  // follows.
  virtual void on_end(int error) = 0;
  // The kernel has taken all queued bytes, or they were dropped: the peer reset a stream that it had ended
  // before.
  virtual void on_drained() {}
  // The TLS handshake is done (ByteStream::speak_tls). Called once, before any data.
  virtual void on_secured() {}

 protected:
  ~StreamCallbacks() = default;
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual void set_owner(StreamCallbacks* owner) = 0;
  virtual void start_reading() = 0;
  virtual void pause_reading() = 0;
  virtual bool reading() const = 0;
  // Only from on_data(): `rest`, the end of the data given, is delivered again first in the next turn. Until
  // then nothing is read, and no end is detected. This bounds the bytes that one peer gets processed per
  // turn. May be empty.
  virtual void put_back(std::string_view rest) = 0;

  virtual void write(std::string bytes) = 0;
  // Offers queued bytes to the kernel now instead of at the end of the turn. Never calls back.
  virtual void flush_now() = 0;
  // The account that the queued bytes are charged to.
  virtual void charge(const AccountPtr& account) = 0;
  // Bytes that the kernel has not taken yet.
  virtual size_t backlog() const = 0;
  // Sends queued bytes, then ends the write side. Reading continues.
  virtual void end_writes() = 0;
  // Ends the stream at once; queued bytes are lost.
  virtual void close() = 0;
  // Detaches the stream from this loop for use on another: returns the descriptor of a socket and closes the
  // stream. Returns -1 if bytes are queued, the stream has ended, or no descriptors are left. `tls` gets the
  // TLS session of a socket that has one; without it such a socket is not detached.
  virtual int detach(std::unique_ptr<TlsSession>* tls) = 0;

  // Null: plain. A stream within a connection has the connection's.
  virtual const TlsSession* tls() const = 0;
  // Other streams share its connection.
  virtual bool is_multiplexed() const { return false; }
  // Whether the remote host vanished silently: it acknowledged nothing for nine times `quiet`
  // (foundation/net/peer_silence.h). After the first call the kernel also probes an idle connection; on_end()
  // reports a failed probe.
  virtual bool peer_is_silent(std::chrono::milliseconds quiet) = 0;
  // The local port of a TCP socket; 0 for other streams.
  virtual uint16_t local_port() const = 0;
};

}  // namespace lineward::net
