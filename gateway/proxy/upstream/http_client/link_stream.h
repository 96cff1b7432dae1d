// A request on a shared HTTP/2 connection to a server, as an HttpConnection sees it: as a connection of its
// own, with HTTP/1.1 in both directions. The mirror image of proxy/client/http2/channel.h.
//
// Owned by its HttpConnection; may outlive the Http2Link.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "foundation/net/stream.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::upstream {

class Http2Link;
struct LinkEntry;

// Why a stream ended before its answer did.
struct LinkLoss {
  mcp::EndReason reason = mcp::EndReason::upstream_unreachable;
  std::string text;
  int64_t limit_ms = -1;
  bool unprocessed = false;  // the server did not process the request, and says so, or got nothing of it
};

class LinkStream final : public net::Stream {
 public:
  LinkStream(net::Loop& loop, Http2Link& link);
  ~LinkStream() override;
  LinkStream(const LinkStream&) = delete;
  LinkStream& operator=(const LinkStream&) = delete;

  // After on_end() with an error.
  const LinkLoss& loss() const { return loss_; }
  // The answer is whole for its reader: close() is no cancel any more.
  void answered() { answered_ = true; }
  bool is_answered() const { return answered_; }

  // For Http2Link. None of them but lose() ends it.
  LinkEntry* entry() const { return entry_; }
  void begun(LinkEntry& entry) { entry_ = &entry; }
  void give(std::string_view bytes);
  // The server has sent all of its answer.
  void finish();
  // Its connection knows it no more, and may end before its reader has taken the answer.
  void disconnect() {
    link_ = nullptr;
    entry_ = nullptr;
  }
  void lose(LinkLoss why);
  void lose_later(LinkLoss why);
  void drained();

  // net::Stream
  void set_owner(net::StreamCallbacks* owner) override { owner_ = owner; }
  void start_reading() override;
  void pause_reading() override { reading_ = false; }
  bool reading() const override { return reading_; }
  void put_back(std::string_view rest) override;
  // A whole request at once: head and body.
  void write(std::string bytes) override;
  void flush_now() override {}
  void charge(const AccountPtr& account) override;
  size_t backlog() const override;
  void end_writes() override {}
  void close() override;
  int detach(std::unique_ptr<net::TlsSession>*) override { return -1; }
  const net::TlsSession* tls() const override { return nullptr; }
  bool is_multiplexed() const override { return true; }
  bool peer_is_silent(std::chrono::milliseconds) override { return false; }
  uint16_t local_port() const override { return 0; }

 private:
  void deliver();
  void credit(size_t bytes);

  net::Loop& loop_;
  Http2Link* link_;             // null: closed, lost, or over for its connection
  LinkEntry* entry_ = nullptr;  // null: not begun, or over
  net::StreamCallbacks* owner_ = nullptr;
  std::string kept_;  // not delivered yet
  MemoryCharge kept_held_{Held::bodies};
  size_t untaken_ = 0;  // bytes of the answer's body in kept_
  LinkLoss loss_;
  bool reading_ = true;
  bool rests_ = false;  // until the next turn
  bool finished_ = false;
  bool answered_ = false;
  net::Deferred deliver_later_;
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
