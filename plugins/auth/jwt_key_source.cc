#include "plugins/auth/jwt_key_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/base/regular_file.h"
#include "foundation/log/log.h"

namespace lineward::plugins {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr size_t kMaxBytes = 1 << 20;
// Tokens with invented key ids must not cause constant fetches.
constexpr milliseconds kLeastPause = 10s;
constexpr milliseconds kRetry = 30s;
constexpr milliseconds kLimit = 5s;

}  // namespace

Result<std::shared_ptr<const KeySet>> read_key_set(const std::string& path) {
  auto text = read_regular_file(path, kMaxBytes);
  if (!text) return fail(fmt::format("{}: {}", path, text.error().text));
  auto keys = KeySet::parse(*text);
  if (!keys) return fail(fmt::format("{}: {}", path, keys.error().text));
  return keys;
}

KeySource::KeySource(plugin::Host& host, KeySourceOptions options, std::function<void()> changed,
                     std::function<void()> settled)
    : host_(host),
      options_(std::move(options)),
      changed_(std::move(changed)),
      settled_(std::move(settled)),
      timer_(host.loop()) {}

KeySource::~KeySource() = default;

Status<> KeySource::start() {
  if (options_.file.empty()) {
    fetch();
    return Done{};
  }
  auto seen = net::FileWatch::look(options_.file);
  read_file();
  if (!keys_) return fail(fmt::format("jwks.file: {} cannot be used", options_.file));
  watch_ = std::make_unique<net::FileWatch>(
      host_.loop(), options_.file, [this] { read_file(); }, std::move(seen));
  return Done{};
}

const KeySet* KeySource::keys() const {
  if (!keys_ || !options_.file.empty()) return keys_.get();
  bool too_old = host_.loop().now() - fresh_at_ > options_.refresh + options_.max_stale;
  return too_old ? nullptr : keys_.get();
}

bool KeySource::may_look_again() const {
  if (options_.url.empty()) return false;
  return task_ || asked_at_.count() < 0 || host_.loop().now() - asked_at_ >= kLeastPause;
}

bool KeySource::look_again() {
  if (may_look_again()) fetch();
  return task_ != nullptr;
}

bool KeySource::use(const std::string& text, std::string& fault) {
  if (keys_ && text == text_) return true;
  auto parsed = KeySet::parse(text);
  if (!parsed) {
    fault = parsed.error().text;
    return false;
  }
  bool first = !keys_;
  keys_ = std::move(*parsed);
  text_ = text;
  log::write(
      log::Level::info, "auth.jwks",
      {{"plugin", options_.plugin}, {"keys", uint64_t{keys_->size()}}, {"was", first ? "" : "others"}});
  if (!first) changed_();
  return true;
}

void KeySource::read_file() {
  std::string fault;
  auto text = read_regular_file(options_.file, kMaxBytes);
  if (!text) {
    fault = text.error().text;
  } else if (use(*text, fault)) {
    return;
  }
  ++failures_;
  log::write(log::Level::error, "auth.jwks",
             {{"plugin", options_.plugin},
              {"file", options_.file},
              {"why", fault},
              {"in_effect", keys_ ? "the keys of before" : "none"}});
}

void KeySource::fetch() {
  if (task_) return;
  ++fetches_;
  asked_at_ = host_.loop().now();
  plugin::WebRequest request;
  request.url = options_.url;
  request.headers = {{"Accept", "application/json"}};
  request.ca_file = options_.ca_file;
  request.limit = kLimit;
  task_ = host_.fetch(std::move(request), [this](plugin::WebAnswer answer) { fetched(answer); });
}

void KeySource::fetched(const plugin::WebAnswer& answer) {
  // The task is on the stack; it can be destroyed there.
  auto task = std::move(task_);
  std::string fault;
  if (answer.status == 0) {
    fault = "it " + answer.fault;
  } else if (answer.status != 200) {
    fault = fmt::format("it answered with status {}", answer.status);
  } else if (use(answer.body, fault)) {
    fresh_at_ = host_.loop().now();
    failed_ = false;
    timer_.start(options_.refresh, [this] { fetch(); });
    auto settled = settled_;
    return settled();
  }
  ++failures_;
  failed_ = true;
  log::write(log::Level::error, "auth.jwks",
             {{"plugin", options_.plugin},
              {"url", options_.url.substr(0, options_.url.find('?'))},
              {"why", fault},
              {"in_effect", keys() != nullptr ? "the keys of before" : "none"}});
  timer_.start(std::min(options_.refresh, kRetry), [this] { fetch(); });
  auto settled = settled_;
  settled();
}

}  // namespace lineward::plugins
