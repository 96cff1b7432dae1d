#include "plugins/trace/trace_exporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "log/log.h"

namespace lineward::plugins {
namespace {

using std::chrono::milliseconds;

constexpr int kMaxTries = 6;
constexpr milliseconds kFirstPause{1000};
constexpr milliseconds kMaxPause{30000};

// OTLP, "Failures": those of HTTP that may pass.
bool may_pass(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

void TraceExporter::add(std::string span) {
  if (options_.url.empty()) return;
  if (queue_.size() >= options_.queue) {
    ++numbers_.dropped;
    return;
  }
  queue_.push_back(std::move(span));
  if (under_way_ > 0 || waits_) return;
  if (queue_.size() >= options_.batch) return send();
  if (!timer_.running()) timer_.start(options_.interval, [this] { send(); });
}

void TraceExporter::send() {
  timer_.stop();
  waits_ = false;
  under_way_ = std::min(queue_.size(), options_.batch);
  if (under_way_ == 0) return;
  std::string body = fmt::format(
      R"({{"resourceSpans":[{{"resource":{{"attributes":{}}},"scopeSpans":[{{"scope":{{"name":"lineward"}},"spans":[)",
      options_.resource);
  for (size_t i = 0; i < under_way_; ++i) {
    if (i > 0) body += ',';
    body += queue_[i];
  }
  body += "]}]}]}";
  auto request =
      plugin::json_post(options_.url, options_.headers, options_.ca_file, options_.timeout, std::move(body));
  task_ = host_.fetch(std::move(request), [this](const plugin::WebAnswer& answer) { answered(answer); });
}

void TraceExporter::answered(const plugin::WebAnswer& answer) {
  auto task = std::move(task_);  // it is on the stack
  bool good = answer.status >= 200 && answer.status < 300;
  size_t count = std::exchange(under_way_, 0);
  if (!good && may_pass(answer.status) && ++tries_ < kMaxTries) {
    ++numbers_.failed;
    milliseconds pause = std::min(kFirstPause * (1 << (tries_ - 1)), kMaxPause);
    waits_ = true;
    timer_.start(pause, [this] { send(); });
    if (tries_ > 1) return;
  }
  if (!good && tries_ <= 1) {
    log::write(log::Level::warn, "trace.export",
               {{"plugin", name_},
                {"why", answer.status == 0 ? "cannot be reached" : fmt::format("HTTP {}", answer.status)}});
  }
  if (waits_) return;
  tries_ = 0;
  (good ? numbers_.sent : numbers_.dropped) += count;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  if (queue_.size() >= options_.batch) return send();
  if (!queue_.empty()) timer_.start(options_.interval, [this] { send(); });
}

}  // namespace lineward::plugins
