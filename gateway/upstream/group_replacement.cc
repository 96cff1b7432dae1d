// How a process that is old or worn (pool.maxLifetime, pool.maxRequests) is replaced, where two generations
// live side by side; and what one is told that takes over. A part of upstream/instance_group.h.
#include "base/log.h"
#include "mcp/targets.h"
#include "upstream/instance_group.h"

namespace lineward::upstream {

void InstanceGroup::on_instance_worn(StdioInstance& instance, std::string_view why) {
  if (instance.worn()) return;
  log::write(log::Level::info, "upstream.replace",
             {{"upstream", server_.name},
              {"pid", static_cast<int64_t>(instance.pid())},
              {"group", plan_.key.substr(0, 64)},
              {"why", why}});
  // A session's answers to its server's questions name no process: it has one at a time, which goes in a
  // moment when it has nothing to do.
  instance.set_worn(why, !session_);
  replacing_ = true;
  home_.schedule_pump(*this);
}

size_t InstanceGroup::active() const {
  size_t sum = 0;
  for (const auto& instance : instances_)
    sum += instance->retiring() ? 0 : 1;
  return sum;
}

// The new one comes first where somebody listens; the old one goes when its calls are answered.
void InstanceGroup::replace_worn() {
  std::vector<StdioInstance*> worn;
  for (const auto& instance : instances_) {
    if (instance->worn()) worn.push_back(instance.get());
  }
  replacing_ = !worn.empty();
  for (StdioInstance* old : worn) {
    StdioInstance* next = ready_instance();
    if (next != nullptr && next->worn()) next = nullptr;
    bool listened = (!listens_.empty() && listens_.served_by(old)) || old->has_listens();
    if (listened && next == nullptr && !session_) {
      // Where no second one may run the old one has to make room.
      if (active() > 0 || start_instance() != nullptr || home_.room_soon()) continue;
    }
    if (next != nullptr && listens_.served_by(old)) {
      listens_.lost(old);
      listens_.tell_changes();
    }
    if (old->has_calls()) continue;
    old->stop({mcp::EndReason::cancelled_drain, old->worn_text(), {}});
  }
}

// A process is told what its clients have asked for: of a shared one those who listen, of a session's what
// the one knew that it takes over from.
void InstanceGroup::restore(StdioInstance& instance) {
  if (own_handshake()) listens_.join(instance);
  if (!session_ || instance.initialize_result().empty()) return;
  initialized_sent_ = true;
  if (!level_params_.empty()) instance.send_own("logging/setLevel", level_params_);
  for (const std::string& uri : subscriptions_)
    instance.send_own("resources/subscribe", mcp::uri_params(uri));
  tell_state_is_gone(instance);
}

// Whatever the last process kept for this session, the new one does not have.
void InstanceGroup::tell_state_is_gone(const StdioInstance& instance) {
  if (scope_ == nullptr) return;
  for (std::string& notice :
       mcp::notices_of_lost_state(instance.legacy_server(), server_.name, level_params_)) {
    auto message = mcp::Message::parse(std::move(notice));
    if (message && scope_ != nullptr) scope_->on_scope_message(std::move(*message), std::nullopt);
  }
}

}  // namespace lineward::upstream
