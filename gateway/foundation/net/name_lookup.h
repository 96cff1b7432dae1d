// Runs one name look-up at a time, on its own thread, not in libuv's pool. A running look-up cannot be
// cancelled, may outlive this object, and four slow ones would block that pool. The thread shares only its
// mailbox with the rest.
//
// Owned by a Resolver; may be destroyed at any moment, and does not call back afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "foundation/base/result.h"
#include "foundation/net/address.h"
#include "foundation/net/loop.h"

namespace lineward::net {

class NameLookup {
 public:
  // Blocks, on the look-up's thread.
  using Work = std::function<Result<Addresses>(const std::string& host, uint16_t port)>;
  // May destroy the look-up.
  using Answer = std::function<void(const Result<Addresses>& answer)>;

  explicit NameLookup(Loop& loop);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // The system's answer (getaddrinfo: /etc/hosts, DNS, search domains).
  static Result<Addresses> of_system(const std::string& host, uint16_t port);
  // Calls back once, later. Must not be called during a look-up.
  void start(const std::string& host, uint16_t port, Work work, Answer answer);
  bool under_way() const { return mailbox_ != nullptr; }

 private:
  struct Mailbox;
  void taken_out();
  Loop& loop_;
  Answer answer_;
  std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace lineward::net
