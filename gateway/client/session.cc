#include "client/session.h"

#include <sys/random.h>

#include "base/check.h"

namespace lineward::client {
namespace {

constexpr size_t kMostWaiting = 256;
constexpr size_t kMostWaitingBytes = 1 << 20;
constexpr std::chrono::milliseconds kSweepEvery{30000};

std::string random_id() {
  unsigned char bytes[16];
  LW_CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string id;
  for (unsigned char b : bytes) {
    id += kHex[b >> 4];
    id += kHex[b & 15];
  }
  return id;
}

}  // namespace

void Session::add_stream(std::unique_ptr<HttpReply> stream) {
  stream->open_stream();
  streams_.push_back(std::move(stream));
  while (!waiting_.empty() && streams_.back()->can_send()) {
    waiting_bytes_ -= waiting_.front().size();
    streams_.back()->send(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void Session::drop_stream(const HttpReply* stream) {
  std::erase_if(streams_, [&](const auto& s) { return s.get() == stream; });
}

void Session::end_streams() {
  // A stream that ends may report back; take them all out first.
  auto streams = std::move(streams_);
  streams_.clear();
  for (auto& stream : streams) stream->finish_empty();
}

bool Session::to_stream(const std::string& message) {
  for (auto stream = streams_.rbegin(); stream != streams_.rend(); ++stream) {
    if (!(*stream)->can_send()) continue;
    (*stream)->send(message);
    return true;
  }
  return false;
}

bool Session::keep_for_stream(std::string message) {
  bool dropped = false;
  while (!waiting_.empty() &&
         (waiting_.size() >= kMostWaiting || waiting_bytes_ + message.size() > kMostWaitingBytes)) {
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
    dropped = true;
  }
  waiting_bytes_ += message.size();
  waiting_.push_back(std::move(message));
  return !dropped;
}

SessionTable::SessionTable(net::Loop& loop, const config::Listen& limits,
                           std::function<void(const std::string&)> expired)
    : loop_(loop), limits_(limits), expired_(std::move(expired)), sweeper_(loop) {
  sweeper_.start(kSweepEvery, [this] { sweep(); });
}

Session* SessionTable::create(const std::string& principal, const std::string& upstream) {
  if (sessions_.size() >= limits_.max_sessions) {
    Session* oldest = nullptr;
    for (auto& [id, session] : sessions_) {
      if (session->idle() && (oldest == nullptr || session->last_used < oldest->last_used)) oldest = session.get();
    }
    if (oldest == nullptr) return nullptr;
    expired_(std::string(oldest->id));
  }
  std::string id = random_id();
  auto& slot = sessions_[id];
  slot = std::make_unique<Session>(id, principal, upstream);
  touch(*slot);
  return slot.get();
}

Session* SessionTable::find(const std::string& id, const std::string& principal) {
  Session* session = find(id);
  return session != nullptr && session->principal == principal ? session : nullptr;
}

Session* SessionTable::find(const std::string& id) {
  auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionTable::remove(const std::string& id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  // Its streams may be on the stack right now: end them here, free them at the end of the turn.
  std::shared_ptr<Session> ended = std::move(found->second);
  sessions_.erase(found);
  ended->end_streams();
  loop_.defer([ended] {});
}

std::vector<std::string> SessionTable::ids() const {
  std::vector<std::string> out;
  out.reserve(sessions_.size());
  for (const auto& entry : sessions_) out.push_back(entry.first);
  return out;
}

void SessionTable::sweep() {
  sweeper_.start(kSweepEvery, [this] { sweep(); });
  std::vector<std::string> old;
  for (const auto& [id, session] : sessions_) {
    if (session->idle() && loop_.now() - session->last_used > limits_.session_idle) old.push_back(id);
  }
  for (const auto& id : old) expired_(id);
}

}  // namespace lineward::client
