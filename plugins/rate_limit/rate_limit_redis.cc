#include "plugins/rate_limit/rate_limit_redis.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "foundation/log/log.h"

namespace lineward::plugins {
namespace {

// After this many consecutive late answers Redis counts as down, until a new connection answers.
constexpr unsigned kMaxLate = 3;

// GCRA, as in rate_limit_table.cc. A time later than a full bucket's comes from another configuration, or
// from a clock that went back.
constexpr std::string_view kScript = R"(
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local interval, bucket = tonumber(ARGV[1]), tonumber(ARGV[2])
local at = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
local from = math.max(math.min(at, now + bucket), now)
local after = from + interval
if after - bucket > now + 0.5 then
  return {0, math.ceil(after - bucket - now), math.ceil(from - now)}
end
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.max(1, math.ceil((after - now) / 1000)))
return {1, 0, math.ceil(after - now)}
)";

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out;
  for (unsigned char byte : digest)
    out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

SharedBuckets::SharedBuckets(net::Loop& loop, RedisUrl url, std::shared_ptr<net::TlsContext> tls,
                             Options options, Rate rate)
    : loop_(loop),
      options_(std::move(options)),
      rate_(rate),
      interval_(fmt::format("{:.3f}", static_cast<double>(rate.interval()) / 1000)),
      bucket_(fmt::format("{:.3f}",
                          static_cast<double>(rate.interval()) * static_cast<double>(rate.burst) / 1000)),
      digest_(sha1_hex(kScript)),
      link_(loop, std::move(url), std::move(tls),
            [this](const std::string& fault) { state(fault.empty(), fault); }) {}

std::shared_ptr<SharedBuckets::Ticket> SharedBuckets::take(const RateKey& key, Done done) {
  if (!link_.usable()) return nullptr;
  auto ticket = std::make_shared<Ticket>(loop_);
  ticket->done = std::move(done);
  if (!ask(options_.prefix + options_.name + ":" + hex(key), ticket, false)) return nullptr;
  ticket->timer.start(options_.limit, [this, weak = std::weak_ptr<Ticket>(ticket)] {
    ++failed_;
    if (++late_ >= kMaxLate) {
      late_ = 0;
      link_.give_up(fmt::format("does not answer within {} ms", options_.limit.count()));
    }
    tell(weak, std::nullopt);
  });
  return ticket;
}

bool SharedBuckets::ask(const std::string& key, const std::weak_ptr<Ticket>& ticket, bool whole_script) {
  return link_.send({whole_script ? "EVAL" : "EVALSHA", whole_script ? kScript : std::string_view(digest_),
                     "1", key, interval_, bucket_},
                    [this, key, ticket](const redisReply* reply) { answered(key, ticket, reply); });
}

// The latest time at which a bucket is full: after all of its tokens and the one requested.
bool SharedBuckets::is_in_range(int64_t allowed, int64_t retry_after, int64_t full_after) const {
  const double most =
      static_cast<double>(rate_.interval()) * (static_cast<double>(rate_.burst) + 1) / 1000 + 1000;
  const auto fits = [most](int64_t us) { return us >= 0 && static_cast<double>(us) <= most; };
  return (allowed == 0 || allowed == 1) && fits(retry_after) && fits(full_after);
}

void SharedBuckets::answered(const std::string& key, const std::weak_ptr<Ticket>& ticket,
                             const redisReply* reply) {
  bool list = reply != nullptr && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3;
  for (size_t i = 0; list && i < 3; ++i)
    list = reply->element[i]->type == REDIS_REPLY_INTEGER;
  if (!list) {
    bool error = reply != nullptr && reply->type == REDIS_REPLY_ERROR;
    std::string_view text = error ? std::string_view(reply->str, reply->len) : std::string_view();
    // Redis loses its scripts at a restart.
    if (text.substr(0, 8) == "NOSCRIPT" && !ticket.expired() && ask(key, ticket, true)) return;
    if (reply != nullptr) {
      ++failed_;
      state(false, error ? "refuses: " + std::string(text.substr(0, std::min<size_t>(text.find(' '), 40)))
                         : "gives an answer of another kind");
    }
    return tell(ticket, std::nullopt);
  }
  auto number = [&](size_t i) { return reply->element[i]->integer; };
  if (!is_in_range(number(0), number(1), number(2))) {
    ++failed_;
    state(false, "gives values outside of their range");
    return tell(ticket, std::nullopt);
  }
  late_ = 0;
  state(true, {});
  Admittance out;
  out.allowed = number(0) == 1;
  out.retry_after = std::chrono::microseconds(number(1));
  out.full_after = std::chrono::microseconds(number(2));
  double used = static_cast<double>(number(2)) * 1000 / static_cast<double>(rate_.interval());
  // The microsecond added by rounding is not a token.
  out.remaining = static_cast<uint64_t>(std::max(
      0.0,
      static_cast<double>(rate_.burst) - std::ceil(used - 1000.0 / static_cast<double>(rate_.interval()))));
  tell(ticket, out);
}

void SharedBuckets::tell(const std::weak_ptr<Ticket>& weak, std::optional<Admittance> admittance) {
  std::shared_ptr<Ticket> ticket = weak.lock();
  if (!ticket || !ticket->done) return;  // it timed out, or was abandoned
  ticket->timer.stop();
  Done done = std::move(ticket->done);
  ticket->done = nullptr;
  done(admittance);
}

// Logs each change once.
void SharedBuckets::state(bool up, const std::string& why) {
  if (said_ && up == up_) return;
  said_ = true;
  up_ = up;
  if (up) {
    log::write(log::Level::info, "rate_limit.redis", {{"plugin", options_.name}, {"state", "up"}});
  } else {
    log::write(log::Level::warn, "rate_limit.redis",
               {{"plugin", options_.name}, {"state", "down"}, {"reason", why}});
  }
}

}  // namespace lineward::plugins
