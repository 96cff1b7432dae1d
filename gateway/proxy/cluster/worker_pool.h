// Gives access to all workers of a gateway. Each has a thread, a loop and a mailbox. Used for moved
// connections and operators' requests; calls of the aggregate use the same mailboxes by handles of their own
// (proxy/cluster/remote_call_server.h).
//
// Created by the Gateway before any thread and outlives all of them. Each worker calls enter() before
// anything is posted to it. Only the first worker's thread calls run() and paused(), and blocks meanwhile:
// they are for cold work.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "foundation/net/mailbox.h"

namespace lineward::cluster {

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

  // Has run on that worker's thread when this returns. False when the worker does not process it within
  // seconds (it is stuck); it is never run then.
  bool run(size_t worker, const std::function<void()>& work);
  // Runs on this thread while all others are paused, so that it may read their objects; false as above.
  bool paused(const std::function<void()>& work);

 private:
  std::vector<std::shared_ptr<net::Mailbox>> mailboxes_;
};

}  // namespace lineward::cluster
