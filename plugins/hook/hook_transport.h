// Carries a hook's questions to a process over pipes, or to a URL. Handles ids and lines, not verdicts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::plugins {

// Never calls back from inside any of these functions.
class HookTransport {
 public:
  virtual ~HookTransport() = default;
  // False: not now; on_hook_ready() follows.
  virtual bool ready() const = 0;
  // Empty: it is up, or will be soon. Otherwise the reason why it is unavailable for a while.
  virtual std::string_view broken() const = 0;
  // `line` has no line breaks.
  virtual void send(uint64_t id, std::string line) = 0;
  // The answer is no longer needed.
  virtual void forget(uint64_t id) = 0;
  // Several consecutive questions have timed out.
  virtual void unresponsive() = 0;
  virtual uint64_t restarts() const = 0;
};

}  // namespace lineward::plugins
