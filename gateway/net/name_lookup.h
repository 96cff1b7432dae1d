// One look-up of a name at a time, on a thread of its own, not in libuv's pool: it cannot be taken back once
// it runs, may last longer than we do, and four slow ones would hold up everything else in that pool. The
// thread shares nothing with us but the mailbox it leaves its answer in.
//
// Owned by a Resolver; may die at any moment, and nobody is called then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/address.h"
#include "net/loop.h"

namespace lineward::net {

class NameLookup {
 public:
  // Blocks, on that thread.
  using Work = std::function<Result<Addresses>(const std::string& host, uint16_t port)>;
  // May destroy the look-up.
  using Answer = std::function<void(const Result<Addresses>& answer)>;

  explicit NameLookup(Loop& loop);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // As the system knows it (getaddrinfo: /etc/hosts, DNS, search domains).
  static Result<Addresses> of_system(const std::string& host, uint16_t port);
  // Called once, later. Not while one is under way.
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
