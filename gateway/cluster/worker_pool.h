// The workers of a gateway as they reach each other. Each has a thread, a loop and a mailbox. This way come
// connections that move and what people ask for; calls of the aggregate go to the same
// mailboxes by ways of their own (cluster/remote_call_server.h).
//
// Made by the Gateway before any thread and outlives all of them. enter() comes from each worker before
// anybody posts to it; run() and paused() from the first worker's thread alone, which waits meanwhile: they
// are for cold work.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "net/mailbox.h"

namespace lineward {

class WorkerPool {
 public:
  explicit WorkerPool(size_t workers) : mailboxes_(workers) {}

  size_t size() const { return mailboxes_.size(); }
  void enter(size_t worker, std::shared_ptr<net::Mailbox> mailbox) {
    mailboxes_[worker] = std::move(mailbox);
  }
  // False when that worker has ended.
  template <class F>
  bool post(size_t worker, F&& work) {
    return mailboxes_[worker] && mailboxes_[worker]->post(std::forward<F>(work));
  }

  // Done on that worker's thread when this returns; false when it does not come to it within seconds (it is
  // stuck), and then it never will be done.
  bool run(size_t worker, const std::function<void()>& work);
  // Done here while all others stand still, so that it may read what is theirs; false as above.
  bool paused(const std::function<void()>& work);

 private:
  std::vector<std::shared_ptr<net::Mailbox>> mailboxes_;
};

}  // namespace lineward
