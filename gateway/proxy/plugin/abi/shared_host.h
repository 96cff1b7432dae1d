// The host's half of plugins/include/lineward/plugin_abi.h: the objects that shared-object plugins hold, and
// the functions that they call.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "foundation/net/wakeup.h"
#include "lineward/plugin_abi.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugin {

// The outcome of a wait, in host-owned memory: it crosses threads.
struct Decided {
  uint64_t wait = 0;
  uint32_t verdict = LINEWARD_FAILED;
  std::optional<core::PolicyError> refusal;
  std::string answer, message;
};

// Receives decisions from any thread. Outlives the plugin while tickets exist.
struct Mailbox {
  std::mutex mutex;
  net::Wakeup* wakeup = nullptr;  // null: the plugin is gone
  std::vector<Decided> decided;
};

const lineward_host_api& host_api();

lineward_text to_text(std::string_view text);
// Guards against invalid lengths: a text longer than `most` counts as absent.
inline constexpr size_t kMaxText = 64 << 20;
std::string_view from_text(lineward_text text, size_t most = kMaxText);
bool is_json_object(std::string_view text);

}  // namespace lineward::plugin

// Opaque to plugins; plain objects in the host.
struct lineward_host {
  std::string name;  // as configured
  std::thread::id loop_thread;
};

struct lineward_ticket {
  std::shared_ptr<lineward::plugin::Mailbox> mailbox;
  uint64_t wait = 0;
};

// The exchange of one hook.
struct lineward_exchange {
  lineward::plugin::ExchangeView* view = nullptr;
  lineward::mcp::Message* message = nullptr;  // current message: during a hook's call, and while it waits
  std::function<lineward_ticket*()> begin_wait = {};  // issues the tickets of the hook
  bool in_call = false;
  uint64_t wait = 0;  // the ticket issued, or 0
};
