// A stream of an HTTP/2 connection as a client connection sees it: as a connection of its own, with HTTP/1.1
// in both directions. It serves several streams one after the other, as a kept connection serves
// requests.
//
// Owned by its StreamCallbacks, which may outlive the HTTP/2 connection. Both are on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "foundation/net/stream.h"
#include "proxy/client/http2/stream_end.h"

namespace lineward::client {

class Http2Connection;

class Channel final : public net::Stream, public StreamEnd {
 public:
  Channel(net::Loop& loop, Http2Connection& connection);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The HTTP/2 connection is closed.
  void lose_connection();

  // net::Stream
  void set_owner(net::StreamCallbacks* owner) override { owner_ = owner; }
  void start_reading() override;
  void pause_reading() override { reading_ = false; }
  bool reading() const override { return reading_; }
  void put_back(std::string_view rest) override;
  void write(std::string bytes) override;
  void flush_now() override;
  void charge(const AccountPtr& account) override;
  size_t backlog() const override;
  void end_writes() override;
  void close() override;
  int detach(std::unique_ptr<net::TlsSession>* tls) override;
  const net::TlsSession* tls() const override;
  bool is_multiplexed() const override { return true; }
  bool peer_is_silent(std::chrono::milliseconds quiet) override;
  uint16_t local_port() const override;

  // StreamEnd
  void begin(Http2Stream& stream) override;
  void give(std::string_view bytes) override;
  bool is_full() const override { return !reading_; }
  void leave() override;
  void finished(bool reusable) override;
  void drained() override;

 private:
  void end(int error);
  void end_later();
  void deliver();

  net::Loop& loop_;
  Http2Connection* connection_;    // null: closed
  Http2Stream* stream_ = nullptr;  // the one being served
  net::StreamCallbacks* owner_ = nullptr;
  AccountPtr account_;
  std::string kept_;  // not delivered yet
  MemoryCharge kept_held_{Held::bodies};
  bool reading_ = false;
  bool ending_writes_ = false;
  net::Deferred deliver_later_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::client
