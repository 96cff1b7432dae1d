#include "plugins/rate_limit/redis_link.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <utility>

#include "foundation/base/backoff.h"

namespace lineward::plugins {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOpenLimit{3000};
constexpr Backoff::Range kPauses{milliseconds(100), milliseconds(5000)};

std::string command(const std::vector<std::string_view>& words) {
  std::vector<const char*> texts;
  std::vector<size_t> sizes;
  for (std::string_view word : words) {
    texts.push_back(word.data() == nullptr ? "" : word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  long long size = redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), texts.data(), sizes.data());
  std::string out = size > 0 ? std::string(bytes, static_cast<size_t>(size)) : std::string();
  if (size > 0) redisFreeCommand(bytes);
  return out;
}

// The first word is the error code; the rest may repeat the command.
std::string first_word(const redisReply* reply) {
  std::string_view text(reply->str, reply->len);
  std::string out(text.substr(0, std::min<size_t>(text.find(' '), 40)));
  std::erase_if(out, [](unsigned char c) { return std::isalnum(c) == 0; });
  return out;
}

}  // namespace

RedisLink::RedisLink(net::Loop& loop, RedisUrl url, std::shared_ptr<net::TlsContext> tls, Changed changed)
    : loop_(loop),
      url_(std::move(url)),
      tls_context_(std::move(tls)),
      changed_(std::move(changed)),
      again_(loop),
      greeting_limit_(loop) {
  if (url_.unix_path.empty()) resolver_ = std::make_unique<net::Resolver>(loop_, url_.host, url_.port);
  open();
}

RedisLink::~RedisLink() {
  if (stream_) stream_->set_owner(nullptr);
  if (reader_ != nullptr) redisReaderFree(reader_);
}

void RedisLink::open() {
  state_ = State::opening;
  auto done = [this](net::Connector::Connected connected) {
    loop_.retire(std::move(connector_));
    if (!connected) return lost(connected.error().text);
    opened(std::move(*connected));
  };
  connector_ = url_.unix_path.empty()
                   ? std::make_unique<net::Connector>(loop_, *resolver_, kOpenLimit, done)
                   : std::make_unique<net::Connector>(loop_, url_.unix_path, kOpenLimit, done);
}

void RedisLink::opened(std::unique_ptr<net::ByteStream> stream) {
  stream_ = std::move(stream);
  stream_->set_owner(this);
  stream_->start_reading();
  reader_ = redisReaderCreate();
  gate_ = RespGate();
  greeting_limit_.start(kOpenLimit, [this] { lost("does not answer"); });
  if (tls_context_) {
    auto engine = net::TlsEngine::for_client(tls_context_, url_.host);
    if (!engine) return lost(engine.error().text);
    tls_ = std::move(*engine);
    stream_->write(tls_->take_output());
  }
  greet();
}

void RedisLink::greet() {
  std::string all;
  greetings_ = 0;
  auto say = [&](const std::vector<std::string_view>& words) {
    all += command(words);
    ++greetings_;
  };
  if (!url_.user.empty()) {
    say({"AUTH", url_.user, url_.password});
  } else if (!url_.password.empty()) {
    say({"AUTH", url_.password});
  }
  if (url_.db != 0) say({"SELECT", std::to_string(url_.db)});
  say({"PING"});
  write(std::move(all));
}

void RedisLink::write(std::string bytes) {
  if (!tls_) return stream_->write(std::move(bytes));
  tls_->write(bytes);
  stream_->write(tls_->take_output());
}

bool RedisLink::send(const std::vector<std::string_view>& words, Done done) {
  if (!usable() || pending_.size() >= kMaxPending) return false;
  std::string bytes = command(words);
  if (bytes.empty()) return false;
  pending_.push_back(std::move(done));
  if (state_ == State::up) {
    write(std::move(bytes));
  } else {
    before_up_ += bytes;
  }
  return true;
}

void RedisLink::on_data(std::string_view bytes) {
  std::string plain;
  if (tls_) {
    auto state = tls_->feed(bytes, plain);
    stream_->write(tls_->take_output());
    if (state == net::TlsEngine::State::failed) return lost(tls_->fault());
    bytes = plain;
  }
  if (bytes.empty()) return;
  if (!gate_.takes(bytes)) return lost("sends no RESP, or more than was asked for");
  if (redisReaderFeed(reader_, bytes.data(), bytes.size()) != REDIS_OK) return lost("sends no RESP");
  take_replies();
}

void RedisLink::take_replies() {
  while (reader_ != nullptr) {
    void* made = nullptr;
    if (redisReaderGetReply(reader_, &made) != REDIS_OK) return lost("sends no RESP");
    if (made == nullptr) return;
    std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(made), freeReplyObject);
    answered(reply.get());
  }
}

void RedisLink::answered(const redisReply* reply) {
  if (greetings_ > 0) {
    if (reply->type == REDIS_REPLY_ERROR) return lost("refuses: " + first_word(reply));
    if (--greetings_ > 0) return;
    greeting_limit_.stop();
    state_ = State::up;
    failures_ = 0;
    if (!before_up_.empty()) write(std::exchange(before_up_, {}));
    return changed_({});
  }
  if (pending_.empty()) return lost("answers without a request");
  Done done = std::move(pending_.front());
  pending_.pop_front();
  done(reply);
}

void RedisLink::on_end(int) {
  lost("closed the connection");
}

void RedisLink::lost(const std::string& why) {
  greeting_limit_.stop();
  if (stream_) {
    stream_->set_owner(nullptr);
    stream_->close();
    loop_.retire(std::move(stream_));
  }
  if (tls_) loop_.retire(std::move(tls_));
  if (reader_ != nullptr) redisReaderFree(std::exchange(reader_, nullptr));
  if (resolver_) resolver_->forget();
  state_ = State::waiting;
  greetings_ = 0;
  before_up_.clear();
  std::deque<Done> pending = std::exchange(pending_, {});
  again_.start(Backoff::exact(kPauses, failures_++), [this] { open(); });
  changed_(why);
  for (Done& done : pending)
    done(nullptr);
}

}  // namespace lineward::plugins
