// The only way from one thread to another: work for the loop of another worker, done there in the order in
// which it came. Nothing on the way of a message at its server's own path goes through it.
//
// Made and closed on its loop's thread; posted to from any thread by whoever holds it, also when it has been
// closed. Once closed it may be destroyed anywhere.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/loop.h"
#include "net/wakeup.h"

namespace lineward::net {

class Mailbox {
 public:
  static Result<std::shared_ptr<Mailbox>> create(Loop& loop);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // `work` is called once on the loop's thread; it may own what only moves. False, and `work` is destroyed
  // right here, when the mailbox is closed.
  template <class F>
  bool post(F&& work) {
    return put(std::make_unique<Job<std::decay_t<F>>>(std::forward<F>(work)));
  }
  // What was not done is destroyed undone. Nothing is called any more.
  void close();

 private:
  struct Work {
    virtual ~Work() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct Job final : Work {
    explicit Job(F given) : work(std::move(given)) {}
    void run() override { work(); }
    F work;
  };
  Mailbox() = default;
  bool put(std::unique_ptr<Work> work);
  void read();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> waiting_;  // under the mutex
  std::unique_ptr<Wakeup> wakeup_;              // null: closed; under the mutex, or waking would race closing
};

}  // namespace lineward::net
