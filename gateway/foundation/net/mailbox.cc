#include "foundation/net/mailbox.h"

namespace lineward::net {

Result<std::shared_ptr<Mailbox>> Mailbox::create(Loop& loop) {
  std::shared_ptr<Mailbox> made(new Mailbox);
  auto wakeup = Wakeup::create(loop, [weak = std::weak_ptr<Mailbox>(made)] {
    if (auto self = weak.lock()) self->read();
  });
  if (!wakeup) return fail(wakeup.error().text);
  made->wakeup_ = std::move(*wakeup);
  return made;
}

Mailbox::~Mailbox() {
  close();
}

bool Mailbox::put(std::unique_ptr<Work> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!wakeup_) return false;
  waiting_.push_back(std::move(work));
  // A single wake-up suffices: the reader takes all queued work.
  if (waiting_.size() == 1) wakeup_->wake();
  return true;
}

void Mailbox::read() {
  std::vector<std::unique_ptr<Work>> now;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    now.swap(waiting_);
  }
  for (auto& work : now) {
    work->run();
    work.reset();
  }
}

void Mailbox::close() {
  std::vector<std::unique_ptr<Work>> undone;
  std::unique_ptr<Wakeup> wakeup;
  std::lock_guard<std::mutex> lock(mutex_);
  undone.swap(waiting_);
  wakeup.swap(wakeup_);
}

}  // namespace lineward::net
