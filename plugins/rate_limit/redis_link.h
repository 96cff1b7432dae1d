// A persistent connection to Redis: commands are pipelined, answers arrive in order. hiredis reads and writes
// RESP; the bytes use Lineward's own streams, so that nothing outlives the owner.
//
// No callback comes from inside send(), or after the link is destroyed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/net/byte_stream.h"
#include "foundation/net/connector.h"
#include "foundation/net/loop.h"
#include "foundation/net/resolver.h"
#include "foundation/net/tls.h"
#include "plugins/rate_limit/redis_url.h"
#include "plugins/rate_limit/resp_gate.h"

struct redisReader;
struct redisReply;

namespace lineward::plugins {

class RedisLink final : private net::StreamCallbacks {
 public:
  // Null: the connection was lost. Must not destroy the link.
  using Done = std::function<void(const redisReply* reply)>;
  // The connection was established (empty), or lost, with the reason; no secrets.
  using Changed = std::function<void(const std::string& fault)>;

  RedisLink(net::Loop& loop, RedisUrl url, std::shared_ptr<net::TlsContext> tls, Changed changed);
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  // Accepts commands: connected, or connecting for the first time.
  bool usable() const { return state_ == State::up || (state_ == State::opening && failures_ == 0); }
  // False: not usable(), or more than kMaxPending commands are pending; `done` is not called then.
  bool send(const std::vector<std::string_view>& words, Done done);
  // Redis no longer answers: reconnects.
  void give_up(const std::string& why) { lost(why); }

  static constexpr size_t kMaxPending = 10000;

 private:
  enum class State : uint8_t { waiting, opening, up };
  void open();
  void opened(std::unique_ptr<net::ByteStream> stream);
  void greet();
  void write(std::string bytes);
  void take_replies();
  void answered(const redisReply* reply);
  void lost(const std::string& why);

  void on_data(std::string_view bytes) override;
  void on_end(int error) override;

  net::Loop& loop_;
  RedisUrl url_;
  std::shared_ptr<net::TlsContext> tls_context_;
  Changed changed_;
  std::unique_ptr<net::Resolver> resolver_;
  std::unique_ptr<net::Connector> connector_;
  std::unique_ptr<net::ByteStream> stream_;
  std::unique_ptr<net::TlsEngine> tls_;
  redisReader* reader_ = nullptr;
  RespGate gate_;  // checks its input
  State state_ = State::waiting;
  size_t greetings_ = 0;   // pending answers to the link's own first commands
  std::string before_up_;  // commands queued before those answers
  std::deque<Done> pending_;
  uint32_t failures_ = 0;  // consecutive
  net::Timer again_;
  net::Timer greeting_limit_;
};

}  // namespace lineward::plugins
