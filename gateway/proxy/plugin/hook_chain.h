// The hooks of one exchange, and the position of its messages among them. Client messages pass in the
// configured order, server messages in reverse, one at a time.
//
// Owned by the exchange, which resumes it; the chain calls the exchange only through `moved`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/plugin/plugin_set.h"

namespace lineward::plugin {

class HookChain {
 public:
  // `moved` is called when a wait is over, never from inside a method of this class: call the method again.
  HookChain(std::shared_ptr<PluginSet> set, std::function<void()> moved)
      : set_(std::move(set)), moved_(std::move(moved)) {}
  // Attaches the hooks; false: there are none, and the chain costs nothing more.
  bool attach(ExchangeView& view, std::string_view server, ServerRole role);

  // Passes the message on from its position; call again with the same message after a wait.
  Verdict client_message(ExchangeView& view, mcp::Message& message);
  Verdict upstream_message(ExchangeView& view, mcp::Message& message);
  void client_answer(ExchangeView& view, mcp::Message& message);
  void failure_text(std::string& text);
  // The plugin's verdict after a wait.
  void resume(Verdict verdict);
  // Exactly once.
  void end(const ExchangeView& view, const Ending& ending);

  bool waiting() const { return waiting_; }
  // The name of the plugin being waited for.
  std::string_view waits_for() const;
  // The name of the plugin that gave the last verdict.
  std::string_view last() const;
  // Counts an action of that plugin.
  enum class Did : uint8_t { refuse, answer, drop, fail };
  void note(Did did);

 private:
  template <class Call>
  Verdict run(size_t count, Call&& call);

  std::shared_ptr<PluginSet> set_;
  std::function<void()> moved_;
  std::vector<PluginSet::Attached> hooks_;
  size_t at_ = 0;  // number of hooks that the message has passed
  size_t last_ = 0;
  bool waiting_ = false;
  bool running_ = false;
  bool ended_ = false;
  std::optional<Verdict> resumed_;
};

}  // namespace lineward::plugin
