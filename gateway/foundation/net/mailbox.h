// The only way from one thread to another: work for the loop of another worker, run there in order. A message
// at its server's own path does not use it.
//
// Made and closed on its loop's thread. Any thread may post, even after it is closed. Once closed it may be
// destroyed on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/loop.h"
#include "foundation/net/wakeup.h"

namespace lineward::net {

class Mailbox {
 public:
  static Result<std::shared_ptr<Mailbox>> create(Loop& loop);
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // `work` is called once on the loop's thread; it may be move-only. If the mailbox is closed, returns false
  // and destroys `work` at once.
  template <class F>
  bool post(F&& work) {
    return put(std::make_unique<Job<std::decay_t<F>>>(std::forward<F>(work)));
  }
  // Destroys queued work without running it. No callbacks follow.
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
  std::unique_ptr<Wakeup> wakeup_;              // null: closed. Under the mutex: waking would race closing
};

}  // namespace lineward::net
