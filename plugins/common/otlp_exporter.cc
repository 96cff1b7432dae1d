#include "plugins/common/otlp_exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "foundation/base/backoff.h"
#include "foundation/json/json_member.h"
#include "foundation/log/log.h"

namespace lineward::plugins {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxTries = 6;
constexpr Backoff::Range kPauses{milliseconds(1000), milliseconds(30000)};
constexpr milliseconds kLongestWish{300000};  // maximum pause requested by a collector (OTLP, "Failures",
                                              // Retry-After)

// OTLP, "Failures": the retryable HTTP statuses.
bool may_pass(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

void OtlpExporter::add(std::string item) {
  if (!sends()) return;
  if (queue_.size() >= options_.queue || bytes_ + item.size() > kMaxQueueBytes) {
    ++numbers_.dropped;
    return;
  }
  bytes_ += item.size();
  queue_.push_back(std::move(item));
  if (under_way_ > 0 || waits_) return;
  if (queue_.size() >= options_.batch || finishing_) return send();
  if (!timer_.running()) timer_.start(options_.interval, [this] { send(); });
}

void OtlpExporter::finish() {
  finishing_ = true;
  if (under_way_ == 0 && !waits_) send();
}

void OtlpExporter::send() {
  timer_.stop();
  waits_ = false;
  if (queue_.empty()) return;
  const OtlpSignalRow& its = row(signal_);
  std::string body =
      fmt::format(R"({{"{}":[{{"resource":{{"attributes":{}}},"{}":[{{"scope":{{"name":"lineward"}},"{}":[)",
                  its.resource, options_.resource, its.scope, its.items);
  for (under_way_ = 0; under_way_ < std::min(queue_.size(), options_.batch); ++under_way_) {
    if (body.size() > kMaxBatchBytes) break;
    if (under_way_ > 0) body += ',';
    body += queue_[under_way_];
  }
  body += "]}]}]}";
  auto request =
      plugin::json_post(options_.url, options_.headers, options_.ca_file, options_.timeout, std::move(body));
  task_ = host_.fetch(std::move(request), [this](const plugin::WebAnswer& answer) { answered(answer); });
}

void OtlpExporter::finish_now() {
  finishing_ = ending_ = true;
  if (under_way_ == 0) send();
}

milliseconds OtlpExporter::pause_after(int tries, std::optional<std::chrono::seconds> wish) {
  if (wish) return std::clamp<milliseconds>(*wish, kPauses.first, kLongestWish);
  return Backoff::exact(kPauses, static_cast<uint32_t>(tries - 1));
}

void OtlpExporter::answered(const plugin::WebAnswer& answer) {
  auto task = std::move(task_);  // it is on the stack
  bool good = answer.status >= 200 && answer.status < 300;
  size_t count = std::exchange(under_way_, 0);
  if (!good && !ending_ && may_pass(answer.status) && ++tries_ < kMaxTries) {
    ++numbers_.failed;
    waits_ = true;
    timer_.start(pause_after(tries_, answer.retry_after), [this] { send(); });
    if (tries_ > 1) return;
  }
  if (!good && tries_ <= 1) {
    log::write(log::Level::warn, row(signal_).event,
               {{"plugin", name_},
                {"why", answer.status == 0 ? "cannot be reached" : fmt::format("HTTP {}", answer.status)},
                {"fault", answer.fault}});
  }
  if (waits_) return;
  tries_ = 0;
  if (good) {
    took(count, answer.body);
  } else {
    numbers_.dropped += count;
  }
  for (size_t i = 0; i < count; ++i) {
    bytes_ -= queue_.front().size();
    queue_.pop_front();
  }
  if (queue_.size() >= options_.batch || (finishing_ && !queue_.empty())) return send();
  if (!queue_.empty()) timer_.start(options_.interval, [this] { send(); });
}

// A collector may accept a request and reject some of its items, which must not be sent again.
void OtlpExporter::took(size_t count, std::string_view answer) {
  std::string_view partial = json::member(answer, "partialSuccess").value_or("");
  std::string_view rejected = json::member(partial, row(signal_).rejected).value_or("");
  if (rejected.size() > 2 && rejected.front() == '"') rejected = rejected.substr(1, rejected.size() - 2);
  uint64_t refused = 0;
  std::from_chars(rejected.data(), rejected.data() + rejected.size(), refused);
  // The collector counts data points, of which a metric has several.
  refused = std::min<uint64_t>(refused, count);
  numbers_.dropped += refused;
  numbers_.sent += count - refused;
}

}  // namespace lineward::plugins
