#include "proxy/upstream/http/session_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {
namespace {

constexpr std::chrono::milliseconds kReapInterval{5000};

// Its session may be closed for another: it has no calls, and no listens that need it.
bool may_make_room(const SessionGroup& group) {
  const bool is_needed = group.listens_here && group.listens.need_server();
  return !group.has_calls() && !is_needed && group.scope() == nullptr;
}

// It was for a single call, which is over. A session without its id yet could not be ended.
bool is_served(const SessionGroup& group) {
  const HttpSession* session = group.session();
  const bool opening = session != nullptr && session->state() == HttpSession::State::opening;
  return group.per_call && !group.is_busy() && !opening;
}

}  // namespace

SessionGroups::SessionGroups(const HttpParts& parts, SessionGroupsCallbacks& owner)
    : loop_(parts.loop),
      pool_(parts.pool),
      sub_requests_(parts.sub_requests),
      server_(parts.server),
      pump_(parts.pump),
      owner_(owner),
      reaper_(parts.loop) {
  reaper_.start(kReapInterval, [this] { reap(); });
}

void SessionGroups::clear() {
  found_last_ = nullptr;
  groups_.clear();
}

SessionGroup* SessionGroups::find(const std::string& key) {
  if (found_last_ != nullptr && found_last_->key == key) return found_last_;
  auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found_last_ = found->second.get();
}

SessionGroup& SessionGroups::get(const SessionPlan& plan) {
  if (SessionGroup* group = find(plan.key)) return *group;
  auto& family = families_[plan.family.empty() ? plan.key : plan.family];
  if (!family) family = std::make_unique<Family>();
  ++family->groups;
  auto made = std::make_unique<SessionGroup>(loop_, server_, plan, family->listens);
  if (plan.plain) {
    open_session(*made, HttpSession::Transport::streamable_http);
    made->session()->adopt({}, {});
  }
  SessionGroup& group = *(groups_[plan.key] = std::move(made));
  if (group.wants_pump()) want(group);  // its family's listens already exist
  return group;
}

// Lineward's own sessions are limited, and so are the session objects for a server without sessions, one per
// credentials. The least recently used idle one makes room. Clients' sessions are limited by
// `listen.maxSessions`.
bool SessionGroups::has_room(const SessionPlan& plan) {
  const bool of_session = plan.bridged || (plan.initialize_params.empty() && !plan.plain);
  if (of_session) return true;
  if (find(plan.slots() == 0 ? plan.key : fmt::format("{}#1", plan.key)) != nullptr) return true;
  size_t sessions = 0;
  SessionGroup* oldest = nullptr;
  for (auto& [key, group] : groups_) {
    if (group->bridged || (!group->own_handshake && !group->plain)) continue;
    ++sessions;
    if (may_make_room(*group) && (oldest == nullptr || group->last_used() < oldest->last_used()))
      oldest = group.get();
  }
  if (sessions < server_.limits.max_gateway_sessions) return true;
  if (oldest == nullptr) return false;
  // If the server keeps no sessions, no state is lost.
  log::write(oldest->plain ? log::Level::debug : log::Level::info, "upstream.evict",
             {{"upstream", server_.name}, {"group", log::Excerpt(oldest->key, 64)}});
  close(*oldest, "made room for another");
  return true;
}

SessionGroup* SessionGroups::unused_for_long() const {
  SessionGroup* oldest = nullptr;
  for (const auto& [key, group] : groups_) {
    if (group->scope() == nullptr || !group->is_ready() || group->has_calls()) continue;
    if (group->session()->stream().is_shared()) continue;  // its client may be at another replica
    if (group->scope()->unused_for().value_or(std::chrono::milliseconds(-1)) < server_.reclaim_after)
      continue;
    if (oldest == nullptr || group->last_used() < oldest->last_used()) oldest = group.get();
  }
  return oldest;
}

std::vector<std::string> SessionGroups::keys() const {
  std::vector<std::string> all;
  for (const auto& entry : groups_)
    all.push_back(entry.first);
  return all;
}

std::optional<std::chrono::milliseconds> SessionGroups::next_apart() const {
  std::optional<std::chrono::milliseconds> next;
  for (const auto& [key, group] : groups_) {
    if (group->is_apart()) next = std::min(next.value_or(group->apart_until()), group->apart_until());
  }
  return next;
}

void SessionGroups::reap() {
  reaper_.start(kReapInterval, [this] { reap(); });
  std::vector<std::string> idle;
  for (auto& [key, group] : groups_) {
    LW_DEBUG_CHECK(ReadyQueue<SessionGroup>::contains(*group) || !group->wants_pump());
    if (!group->is_busy() && loop_.now() - group->last_used() > server_.instance_idle) idle.push_back(key);
  }
  for (const auto& key : idle) {
    if (SessionGroup* group = find(key)) close(*group, "was idle");
  }
}

std::unique_ptr<SessionGroup> SessionGroups::take(SessionGroup& group) {
  auto found = groups_.find(group.key);
  if (found == groups_.end()) return nullptr;
  std::unique_ptr<SessionGroup> taken = std::move(found->second);
  groups_.erase(found);
  found_last_ = nullptr;
  wanting_.remove(*taken);
  return taken;
}

void SessionGroups::let_go(std::unique_ptr<SessionGroup> taken) {
  wanting_.remove(*taken);
  --families_[taken->family]->groups;
  let_go_family(taken->family);
  loop_.retire(std::move(taken));
}

// It has no groups and no listens any more.
void SessionGroups::let_go_family(const std::string& name) {
  auto found = families_.find(name);
  if (found == families_.end() || found->second->groups > 0 || !found->second->listens.empty()) return;
  loop_.retire(std::move(found->second));  // its listens may be on the stack
  families_.erase(found);
}

void SessionGroups::close_listen(HttpCall& call) {
  auto family = families_.find(call.family);
  if (family == families_.end()) return;
  family->second->listens.close(call);
  let_go_family(call.family);
}

// ---- sessions ----

void SessionGroups::open_session(SessionGroup& group, HttpSession::Transport transport) {
  auto session =
      std::make_unique<HttpSession>(pool_, sub_requests_, server_, *session_owner_, group.key, transport);
  if (group.session() == nullptr) ++sessions_;
  group.replace_session(std::move(session));
}

void SessionGroups::close_session(SessionGroup& group) {
  if (group.session() != nullptr) --sessions_;
  std::unique_ptr<HttpSession> session = group.replace_session(nullptr);
  if (group.wants_pump()) want(group);
  note_served(group);
  loop_.retire(std::move(session));
}

void SessionGroups::note_answer_of(const HttpSession& session) {
  const bool keeps = session.has_id();
  if (keeps_sessions_ == keeps) return;
  keeps_sessions_ = keeps;
  log::write(log::Level::debug, "upstream.sessions",
             {{"upstream", server_.name}, {"keeps", keeps ? "yes" : "no"}});
}

// ---- groups with work ----

void SessionGroups::join(SessionGroup& group, HttpCall& call) {
  group.join(call);
  want(group);
}

void SessionGroups::want(SessionGroup& group) {
  wanting_.add(group);
  pump_.schedule();
}

void SessionGroups::note_served(SessionGroup& group) {
  if (group.per_call) want(group);
}

void SessionGroups::prune_line() {
  std::vector<std::string> served;
  wanting_.keep_if([&](const SessionGroup& group) {
    if (is_served(group)) served.push_back(group.key);
    return group.wants_pump();
  });
  // The end of a group may start calls, and so end another one.
  for (const auto& key : served) {
    SessionGroup* group = find(key);
    if (group != nullptr && is_served(*group)) close(*group, "served its one call");
  }
}

size_t SessionGroups::queued() const {
  size_t sum = 0;
  for (SessionGroup* group : wanting_)
    sum += group->queue().size();
  return sum;
}

}  // namespace lineward::upstream
