// Services of a worker for its plugins, besides exchanges.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "foundation/net/loop.h"
#include "proxy/core/headers.h"

namespace lineward::metrics {
struct MetricSnapshot;
}
namespace lineward::process {
class Spawner;
}

namespace lineward::plugin {

struct WebAnswer {
  int status = 0;     // 0: no response; `fault` has the reason
  std::string fault;  // continues after the address; no secrets
  std::string body;   // at most 1 MiB
  // Retry-After in seconds (RFC 9110, section 10.2.3); a date is ignored, since it depends on the server's
  // clock.
  std::optional<std::chrono::seconds> retry_after;
};

struct WebRequest {
  std::string url;  // https, or http to this machine
  std::string method = "GET";
  core::HeaderFields headers;
  std::string body;
  std::string ca_file = {};  // PEM of trusted authorities; empty: the system's
  std::chrono::milliseconds limit{10000};
};

// A JSON POST to a URL from a plugin's options.
inline WebRequest json_post(std::string url, core::HeaderFields headers, std::string ca_file,
                            std::chrono::milliseconds limit, std::string body) {
  headers.emplace_back("Content-Type", "application/json");
  return {std::move(url), "POST", std::move(headers), std::move(body), std::move(ca_file), limit};
}

// A request under way; destroying it cancels it.
class WebTask {
 public:
  virtual ~WebTask() = default;
};

class Host {
 public:
  virtual net::Loop& loop() = 0;
  // Starts the processes of stdio servers (foundation/process/child_process.h): for plugins that run a
  // program.
  virtual process::Spawner& spawner() = 0;
  // The clock for tokens and certificates.
  virtual std::chrono::system_clock::time_point wall_clock() const {
    return std::chrono::system_clock::now();
  }
  // The effective configuration; may be kept by reference.
  virtual const config::Config& config() const = 0;
  // True on the first worker, for work done once per process.
  virtual bool is_first() const { return true; }
  // Reads all metrics now; only the first worker can. False if a worker is stuck.
  virtual bool read_metrics(metrics::MetricSnapshot&) const { return false; }
  // `done` is called once, never from inside fetch(), and not after the task was destroyed; it may destroy
  // the task.
  virtual std::unique_ptr<WebTask> fetch(WebRequest request, std::function<void(WebAnswer)> done) = 0;
  // JSON or plain text with secrets and redacted values removed (foundation/log/redaction.h). Log lines and
  // the console are redacted anyway.
  virtual std::string redacted(std::string_view json) const = 0;
  using Redactor = std::function<std::string(std::string_view text)>;  // called on any thread
  // Active while the returned reference is kept.
  [[nodiscard]] virtual std::shared_ptr<void> add_redactor(Redactor redactor) = 0;

 protected:
  ~Host() = default;
};

}  // namespace lineward::plugin
