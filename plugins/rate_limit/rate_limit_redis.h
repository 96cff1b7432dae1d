// The buckets of rate_limit_table.h in a Redis shared by several Lineward processes. A Lua script reads,
// decides and writes: atomic, by Redis's own clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plugins/common/rate_limit_table.h"
#include "plugins/rate_limit/redis_link.h"

namespace lineward::plugins {

class SharedBuckets {
 public:
  // nullopt: Redis did not answer in time, or returned an error.
  using Done = std::function<void(std::optional<Admittance>)>;

  struct Options {
    std::string name;    // the plugin's, for the log
    std::string prefix;  // of the keys
    std::chrono::milliseconds limit{50};
  };

  SharedBuckets(net::Loop& loop, RedisUrl url, std::shared_ptr<net::TlsContext> tls, Options options,
                Rate rate);

  // A pending answer; destroying it abandons the answer.
  class Ticket {
   public:
    explicit Ticket(net::Loop& loop) : timer(loop) {}
    net::Timer timer;
    Done done;
  };
  // Null: Redis is unavailable. `done` is called once, not from inside.
  std::shared_ptr<Ticket> take(const RateKey& key, Done done);

  bool up() const { return up_; }
  uint64_t failures() const { return failed_; }

 private:
  bool ask(const std::string& key, const std::weak_ptr<Ticket>& ticket, bool whole_script);
  bool is_in_range(int64_t allowed, int64_t retry_after, int64_t full_after) const;
  void answered(const std::string& key, const std::weak_ptr<Ticket>& ticket, const redisReply* reply);
  void tell(const std::weak_ptr<Ticket>& ticket, std::optional<Admittance> admittance);
  void state(bool up, const std::string& why);

  net::Loop& loop_;
  Options options_;
  Rate rate_;
  std::string interval_, bucket_;  // microseconds
  std::string digest_;             // of the script
  bool up_ = false;
  bool said_ = false;
  unsigned late_ = 0;  // consecutive late answers
  uint64_t failed_ = 0;
  RedisLink link_;  // last: it calls back
};

}  // namespace lineward::plugins
