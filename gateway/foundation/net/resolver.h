// Resolves one host with the system's resolver (getaddrinfo: /etc/hosts, DNS, search domains).
//
// Owned by the object that connects to the host; may be destroyed at any moment.
#pragma once

#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/address.h"
#include "foundation/net/loop.h"
#include "foundation/net/name_lookup.h"

namespace lineward::net {

struct ResolverOptions {
  std::chrono::milliseconds young{30000};  // lifetime of an answer
  // Blocks, on its own thread; empty: the system's resolver.
  NameLookup::Work look_up;
  // Ignores addresses of this machine and of private networks: for hosts named by a remote party.
  bool only_public = false;
};

class Resolver {
 public:
  using Answer = NameLookup::Answer;

  // `host` is a name or a literal address without brackets; literal addresses are not looked up.
  Resolver(Loop& loop, std::string host, uint16_t port, ResolverOptions options = {});
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  const std::string& host() const { return host_; }
  // The last answer while it is fresh, else empty: then call ask().
  const Addresses& known() const;
  // Calls back once, later. Concurrent callers share one look-up.
  void ask(Answer answer);
  // Connecting to the known addresses failed: the next connection looks up again.
  void forget();

 private:
  void answered(const Result<Addresses>& answer);

  Loop& loop_;
  std::string host_;
  uint16_t port_;
  ResolverOptions options_;
  bool literal_ = false;
  bool refused_literal_ = false;  // a literal address that is not public
  Addresses known_;
  milliseconds known_until_{0};
  std::vector<Answer> waiting_;
  NameLookup lookup_;
  bool literal_asked_ = false;  // an answer without a look-up is pending
  Lifetime lifetime_;
};

}  // namespace lineward::net
