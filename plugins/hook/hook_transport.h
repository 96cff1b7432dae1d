// How a hook's questions travel: to a process over pipes, or to a URL. Knows ids and lines, no verdicts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::plugins {

class HookTransportOwner {
 public:
  // What came for that question: the JSON text of an object.
  virtual void on_hook_answer(uint64_t id, std::string_view object) = 0;
  // There will be none.
  virtual void on_hook_failed(uint64_t id, std::string_view why) = 0;
  // There was none to these, and to none before: the process is gone.
  virtual void on_hook_down(std::string_view why) = 0;
  // It can take questions (again).
  virtual void on_hook_ready() = 0;
  virtual void on_hook_rubbish() = 0;

 protected:
  ~HookTransportOwner() = default;
};

// Never calls back from inside any of these.
class HookTransport {
 public:
  virtual ~HookTransport() = default;
  // False: not now; on_hook_ready() comes.
  virtual bool ready() const = 0;
  // Empty: it is up, or will be soon. Else why nothing is to be expected of it for a while.
  virtual std::string_view broken() const = 0;
  // `line` has no line breaks.
  virtual void send(uint64_t id, std::string line) = 0;
  // Nobody waits for that answer any more.
  virtual void forget(uint64_t id) = 0;
  // It has let several questions in a row run out of time.
  virtual void unresponsive() = 0;
  virtual uint64_t restarts() const = 0;
};

}  // namespace lineward::plugins
