// The addresses of one host, as the system's resolver knows them (getaddrinfo: /etc/hosts, DNS, search
// domains).
//
// Owned by whoever connects to that host; may die at any moment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/name_lookup.h"

namespace lineward::net {

struct ResolverOptions {
  std::chrono::milliseconds young{30000};  // how long an answer counts
  // Blocks, on a thread of its own; empty: the system's.
  NameLookup::Work look_up;
  // Addresses of this machine and of private networks do not count: for hosts that somebody else has named.
  bool only_public = false;
};

class Resolver {
 public:
  using Answer = NameLookup::Answer;

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
  NameLookup lookup_;
  bool literal_asked_ = false;  // an answer without a look-up is under way
  Lifetime lifetime_;
};

}  // namespace lineward::net
