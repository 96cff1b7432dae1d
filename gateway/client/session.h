// Legacy sessions (2025-03-26 … 2025-11-25, "Session Management"): an id, who it belongs to, its GET streams and what
// waits for one. What a session's calls and questions mean is known in exchange/ only.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/http_reply.h"
#include "config/config.h"
#include "net/loop.h"

namespace lineward::client {

class Session {
 public:
  Session(std::string its_id, std::string its_principal, std::string its_upstream)
      : id(std::move(its_id)), principal(std::move(its_principal)), upstream(std::move(its_upstream)) {}

  const std::string id;
  const std::string principal;
  const std::string upstream;
  std::string revision;  // negotiated; empty until `initialize` was answered
  uint32_t exchanges = 0;  // under way
  std::chrono::milliseconds last_used{0};

  bool has_stream() const { return !streams_.empty(); }
  bool idle() const { return exchanges == 0 && streams_.empty(); }
  void add_stream(std::unique_ptr<HttpReply> stream);
  void drop_stream(const HttpReply* stream);
  void end_streams();
  // To exactly one GET stream.
  bool to_stream(const std::string& message);
  // Waits, bounded, for a GET stream to come; the oldest is dropped for the newest. False when one was dropped.
  bool keep_for_stream(std::string message);

 private:
  std::vector<std::unique_ptr<HttpReply>> streams_;
  std::deque<std::string> waiting_;
  size_t waiting_bytes_ = 0;
};

// All sessions of a worker. Ids are 128 random bits; a foreign principal's id looks exactly like an unknown one.
class SessionTable {
 public:
  // `expired` is asked to end a session that was idle too long or had to make room; it must call remove().
  SessionTable(net::Loop& loop, const config::Listen& limits, std::function<void(const std::string& id)> expired);

  // Null when the table is full of busy sessions.
  Session* create(const std::string& principal, const std::string& upstream);
  Session* find(const std::string& id, const std::string& principal);
  Session* find(const std::string& id);
  void remove(const std::string& id);
  void touch(Session& session) { session.last_used = loop_.now(); }
  size_t size() const { return sessions_.size(); }
  std::vector<std::string> ids() const;

 private:
  void sweep();

  net::Loop& loop_;
  const config::Listen& limits_;
  std::function<void(const std::string&)> expired_;
  net::Timer sweeper_;
  std::unordered_map<std::string, std::unique_ptr<Session>> sessions_;
};

}  // namespace lineward::client
