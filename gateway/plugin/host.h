// What plugins get from the worker that they live on, besides the exchanges.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "core/headers.h"
#include "net/loop.h"

namespace lineward::core {
struct MetricSnapshot;
}
namespace lineward::net {
class Spawner;
}

namespace lineward::plugin {

struct WebAnswer {
  int status = 0;     // 0: there was none, and `fault` says why
  std::string fault;  // goes on from the address; no secrets
  std::string body;   // at most 1 MiB
  // Retry-After where it counts seconds (RFC 9110 10.2.3); a date is of somebody else's clock.
  std::optional<std::chrono::seconds> retry_after;
};

struct WebRequest {
  std::string url;  // https, or http to this machine
  std::string method = "GET";
  core::HeaderFields headers;
  std::string body;
  std::string ca_file = {};  // PEM, of authorities to trust; empty: the system's
  std::chrono::milliseconds limit{10000};
};

// A POST of JSON to where a plugin's options say.
inline WebRequest json_post(std::string url, core::HeaderFields headers, std::string ca_file,
                            std::chrono::milliseconds limit, std::string body) {
  headers.emplace_back("Content-Type", "application/json");
  return {std::move(url), "POST", std::move(headers), std::move(body), std::move(ca_file), limit};
}

// A request on its way; destroying it gives up.
class WebTask {
 public:
  virtual ~WebTask() = default;
};

class Host {
 public:
  virtual net::Loop& loop() = 0;
  // What starts the processes of stdio servers (process/child_process.h): for plugins that run a program.
  virtual net::Spawner& spawner() = 0;
  // What tokens and certificates are measured by.
  virtual std::chrono::system_clock::time_point wall_clock() const {
    return std::chrono::system_clock::now();
  }
  // The configuration in effect; may be kept by reference.
  virtual const config::Config& config() const = 0;
  // For what a process does once, however many workers it has: the first one does it.
  virtual bool is_first() const { return true; }
  // All metrics as they are now; the first worker alone can tell. Nothing where a worker is stuck.
  virtual bool read_metrics(core::MetricSnapshot&) const { return false; }
  // `done` is called once, never from inside, not after the task was destroyed, which it may do itself.
  virtual std::unique_ptr<WebTask> fetch(WebRequest request, std::function<void(WebAnswer)> done) = 0;
  // JSON or plain text as it may be shown or logged: without secrets and what a redactor blacks
  // out (log/redaction.h). Log lines and the console get it anyway.
  virtual std::string redacted(std::string_view json) const = 0;
  using Redactor = std::function<std::string(std::string_view text)>;  // from any thread
  // It counts as long as what is returned is kept.
  [[nodiscard]] virtual std::shared_ptr<void> add_redactor(Redactor redactor) = 0;

 protected:
  ~Host() = default;
};

}  // namespace lineward::plugin
