// The addresses of one host, as the system's resolver knows them (getaddrinfo: /etc/hosts, DNS, search
// domains).
//
// A lookup runs on a thread of its own, not in libuv's pool: it cannot be taken back once it runs, may last
// longer than we do, and four slow ones would hold up everything else in that pool. The thread shares nothing
// with us but the mailbox it leaves its answer in. Owned by whoever connects to that host; may die at any
// moment.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/loop.h"

namespace lineward::net {

struct Address {
  sockaddr_storage bytes{};
  std::string text;  // "127.0.0.1:8000", "[::1]:8000"
  bool operator==(const Address& other) const { return text == other.text; }
};
using Addresses = std::vector<Address>;

struct ResolverOptions {
  std::chrono::milliseconds young{30000};  // how long an answer counts
  // Blocks, on a thread of its own; empty: the system's.
  std::function<Result<Addresses>(const std::string& host, uint16_t port)> look_up;
  // Addresses of this machine and of private networks do not count: for hosts that somebody else has named.
  bool only_public = false;
};

class Resolver {
 public:
  using Answer = std::function<void(const Result<Addresses>& answer)>;

  // `host` is a name or a literal address without brackets; a literal one is never looked up.
  Resolver(Loop& loop, std::string host, uint16_t port, ResolverOptions options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  const std::string& host() const { return host_; }
  // The last answer while it is young enough, else empty: then ask().
  const Addresses& known() const;
  // Called once, later. Several who ask at the same time share one lookup.
  void ask(Answer answer);
  // What is known did not work: the next connection looks again.
  void forget();

 private:
  struct Mailbox;
  void look_up();
  void answered(const Result<Addresses>& answer);

  Loop& loop_;
  std::string host_;
  uint16_t port_;
  ResolverOptions options_;
  bool literal_ = false;
  bool refused_literal_ = false;  // it is one, and not public
  Addresses known_;
  milliseconds known_until_{0};
  std::vector<Answer> waiting_;
  std::shared_ptr<Mailbox> mailbox_;  // of the lookup under way
};

}  // namespace lineward::net
