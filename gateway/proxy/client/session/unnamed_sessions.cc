#include "proxy/client/session/unnamed_sessions.h"

#include <algorithm>
#include <utility>

#include "proxy/core/gate.h"

namespace lineward::client {

void UnnamedSessions::opened(Connection connection, Session& session, size_t credentials) {
  std::string here_before, its_before;
  if (connection != nullptr) {
    session.on_connection = true;
    ByServer& here = by_connection_[connection];
    auto known = std::find_if(here.begin(), here.end(),
                              [&](const auto& entry) { return entry.server == session.upstream; });
    if (known == here.end()) {
      here.push_back({session.upstream, session.id, credentials});
    } else {
      here_before = std::exchange(known->id, session.id);
      known->credentials = credentials;
      if (Session* before = sessions_.find(here_before)) before->on_connection = false;
    }
  }
  if (!core::is_anonymous(session.principal)) {
    // Sessions end without a notification to this table.
    if (by_principal_.size() > 2 * sessions_.size() + 64)
      std::erase_if(by_principal_,
                    [this](const auto& entry) { return sessions_.find(entry.second) == nullptr; });
    its_before = std::exchange(by_principal_[key(session.principal, session.upstream)], session.id);
  } else if (connection == nullptr) {
    end_unless_named(session.id, Ends::when_idle);  // only its id will lead to it
  }
  replaced(here_before);
  if (its_before != here_before) replaced(its_before);
}

// The connection or the principal leads to another session now; the other of the two may still lead to this
// one. A proxy may share a connection among principals.
void UnnamedSessions::replaced(const std::string& id) {
  Session* before = sessions_.find(id);
  if (before != nullptr && !before->on_connection && !is_of_principal(*before))
    end_unless_named(id, Ends::when_idle);
}

void UnnamedSessions::named(Session& session) {
  // Streams opened without the id belong to another client of the same principal.
  if (!std::exchange(session.named, true) && !session.one_stream) session.end_get_streams();
  session.forsaken = false;
  // An HTTP+SSE client always names its session: when that transport is disabled, the session still ends.
  if (!session.one_stream) session.ends_when_idle = false;
}

namespace {

// A client that sends the id always does: a request without it is another client's. A session found this way
// is in use.
Session* unnamed(Session* session) {
  if (session == nullptr || session->named) return nullptr;
  session->forsaken = false;
  return session;
}

}  // namespace

Session* UnnamedSessions::find(Connection connection, const std::string& principal, const std::string& server,
                               size_t credentials) {
  auto here = by_connection_.find(connection);
  if (here != by_connection_.end()) {
    for (const Opened& one : here->second) {
      const bool its =
          one.server == server && (!core::is_anonymous(principal) || one.credentials == credentials);
      Session* session = its ? sessions_.find(one.id, principal) : nullptr;
      if (session != nullptr) return unnamed(session);
    }
  }
  if (core::is_anonymous(principal)) return nullptr;
  auto newest = by_principal_.find(key(principal, server));
  return newest == by_principal_.end() ? nullptr : unnamed(sessions_.find(newest->second, principal));
}

void UnnamedSessions::end_sessions_of(Connection connection, Ends ends) {
  auto here = by_connection_.find(connection);
  if (here == by_connection_.end()) return;
  const ByServer gone = std::move(here->second);
  by_connection_.erase(here);
  for (const Opened& one : gone) {
    Session* session = sessions_.find(one.id);
    if (session == nullptr) continue;
    session->on_connection = false;
    if (!is_of_principal(*session)) end_unless_named(one.id, ends);
  }
}

// Its principal can still reach it, from any connection.
bool UnnamedSessions::is_of_principal(const Session& session) const {
  auto newest = by_principal_.find(key(session.principal, session.upstream));
  return newest != by_principal_.end() && newest->second == session.id;
}

void UnnamedSessions::end_unless_named(const std::string& id, Ends ends) {
  Session* session = sessions_.find(id);
  if (session == nullptr || session->named) return;
  if (!session->served_unnamed) return await_claim(*session);
  session->ends_when_idle = true;
  if (ends == Ends::at_once || session->exchanges == 0) end_later(id);
}

void UnnamedSessions::await_claim(Session& session) {
  if (std::exchange(session.unclaimed, true)) return;
  unclaimed_.emplace_back(loop_.now() + patience_.unclaimed, session.id);
  sweep();
}

// A session that is not opened yet cannot be named.
void UnnamedSessions::look_for_claims() {
  while (!unclaimed_.empty() && unclaimed_.front().first <= loop_.now()) {
    std::string id = std::move(unclaimed_.front().second);
    unclaimed_.pop_front();
    Session* session = sessions_.find(id);
    if (session == nullptr || session->named) continue;
    if (session->exchanges > 0 || loop_.now() - session->last_used < patience_.unclaimed) {
      unclaimed_.emplace_back(loop_.now() + patience_.unclaimed, std::move(id));
      continue;
    }
    sessions_.forsake(*session);
    forsaken_.emplace_back(loop_.now() + patience_.forsaken, std::move(id));
  }
}

void UnnamedSessions::end_later(std::string id) {
  loop_.defer(lifetime_, [this, id = std::move(id)] { end_(id); });
}

void UnnamedSessions::sweep() {
  look_for_claims();
  while (!forsaken_.empty() && (forsaken_.size() > kMaxForsaken || forsaken_.front().first <= loop_.now())) {
    Session* session = sessions_.find(forsaken_.front().second);
    forsaken_.pop_front();
    if (session == nullptr || !session->forsaken) continue;
    if (session->exchanges == 0) {
      end_later(session->id);
      continue;
    }
    // A client came back to it: its time starts again with the end of its calls.
    session->forsaken = false;
    unclaimed_.emplace_back(loop_.now() + patience_.unclaimed, session->id);
  }
  auto next = std::chrono::milliseconds::max();
  for (const Until* list : {&unclaimed_, &forsaken_}) {
    if (!list->empty()) next = std::min(next, list->front().first);
  }
  if (next == std::chrono::milliseconds::max()) return;
  timer_.start(std::max(next - loop_.now(), std::chrono::milliseconds(1)), [this] { sweep(); });
}

}  // namespace lineward::client
