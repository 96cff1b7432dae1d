// What plugins that are shared objects hold of Lineward, and the functions that they call: the host's half of
// plugins/include/lineward/plugin_abi.h.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lineward/plugin_abi.h"
#include "net/wakeup.h"
#include "plugin/plugin.h"

namespace lineward::plugin {

// How a wait ended, in memory of our own: it crosses threads.
struct Decided {
  uint64_t wait = 0;
  uint32_t verdict = LINEWARD_FAILED;
  std::optional<Refusal> refusal;
  std::string answer, message;
};

// Where any thread leaves decisions. Outlives the plugin as long as tickets do.
struct Mailbox {
  std::mutex mutex;
  net::Wakeup* wakeup = nullptr;  // null: nobody waits any more
  std::vector<Decided> decided;
};

// Of one hook.
class TicketOffice {
 public:
  virtual lineward_ticket* begin_wait() = 0;

 protected:
  ~TicketOffice() = default;
};

const lineward_host_api& host_api();

lineward_text to_text(std::string_view text);
// Rubbish of a length is no reason to crash: what is longer than `most` is not there.
inline constexpr size_t kMaxText = 64 << 20;
std::string_view from_text(lineward_text text, size_t most = kMaxText);
bool is_json_object(std::string_view text);

}  // namespace lineward::plugin

// Opaque to plugins; plain objects here.
struct lineward_host {
  std::string name;  // as configured
  std::thread::id loop_thread;
};

struct lineward_ticket {
  std::shared_ptr<lineward::plugin::Mailbox> mailbox;
  uint64_t wait = 0;
};

// One hook's exchange.
struct lineward_exchange {
  lineward::plugin::ExchangeView* view = nullptr;
  lineward::mcp::Message* message = nullptr;  // at hand: in a hook's call, and while it waits
  lineward::plugin::TicketOffice* office = nullptr;
  bool in_call = false;
  uint64_t wait = 0;  // the ticket that was given, or 0
};
