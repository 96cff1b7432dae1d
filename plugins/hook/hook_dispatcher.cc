#include "plugins/hook/hook_dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lineward::plugins {
namespace {

constexpr int kSilentTooOften = 8;

}  // namespace

uint64_t HookDispatcher::ask(std::string members, Done done, std::string_view& why) {
  if (why = transport_->broken(); !why.empty()) {
    ++numbers_.exited;
    return 0;
  }
  bool now = queue_.empty() && in_flight_ < limits_.in_flight && transport_->ready();
  if (!now && (queue_.size() >= limits_.queue || queue_bytes_ + members.size() > limits_.queue_bytes)) {
    ++numbers_.full;
    why = "has too many questions open";
    return 0;
  }
  uint64_t id = ++ids_;
  Question& question = open_[id];
  question.done = std::move(done);
  question.timer = std::make_unique<net::Timer>(loop_);
  question.timer->start(limits_.timeout, [this, id] { timed_out(id); });
  if (now) {
    send(id, std::move(members));
  } else {
    queue_bytes_ += members.size();
    queue_.emplace_back(id, std::move(members));
  }
  return id;
}

void HookDispatcher::send(uint64_t id, std::string members) {
  open_[id].sent = true;
  ++in_flight_;
  transport_->send(id, fmt::format(R"({{"id":{}{}}})", id, members));
}

void HookDispatcher::tell(std::string members) {
  if (!transport_->broken().empty() || !transport_->ready() || !queue_.empty()) {
    ++numbers_.untold;
    return;
  }
  uint64_t id = ++ids_;
  transport_->send(id, fmt::format(R"({{"id":{}{}}})", id, members));
}

void HookDispatcher::send_on() {
  while (!queue_.empty() && in_flight_ < limits_.in_flight && transport_->ready()) {
    auto [id, members] = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= members.size();
    send(id, std::move(members));
  }
}

void HookDispatcher::forget(uint64_t id) {
  auto found = open_.find(id);
  if (found == open_.end()) return;
  if (found->second.sent) {
    --in_flight_;
    transport_->forget(id);
  } else {
    auto queued =
        std::find_if(queue_.begin(), queue_.end(), [&](const auto& one) { return one.first == id; });
    if (queued != queue_.end()) {
      queue_bytes_ -= queued->second.size();
      queue_.erase(queued);
    }
  }
  open_.erase(found);
  send_on();
}

void HookDispatcher::finish(uint64_t id, const Outcome& outcome) {
  auto found = open_.find(id);
  if (found == open_.end()) return;
  Done done = std::move(found->second.done);
  forget(id);
  done(outcome);
}

void HookDispatcher::timed_out(uint64_t id) {
  ++numbers_.timed_out;
  auto found = open_.find(id);
  bool sent = found != open_.end() && found->second.sent;
  std::string why = fmt::format("did not answer within {} ms", limits_.timeout.count());
  if (sent && ++silent_ >= kSilentTooOften) {
    silent_ = 0;
    transport_->unresponsive();
  }
  finish(id, {false, why});
}

void HookDispatcher::on_hook_answer(uint64_t id, std::string_view object) {
  silent_ = 0;
  auto found = open_.find(id);
  if (found == open_.end() || !found->second.sent) {
    ++(id > 0 && id <= ids_ && found == open_.end() ? numbers_.late : numbers_.rubbish);
    return;
  }
  ++numbers_.answered;
  finish(id, {true, object});
}

void HookDispatcher::on_hook_failed(uint64_t id, std::string_view why) {
  if (open_.find(id) == open_.end()) return;
  ++numbers_.exited;
  finish(id, {false, why});
}

void HookDispatcher::on_hook_down(std::string_view why) {
  std::string text(why);
  std::vector<uint64_t> lost;
  bool all = !transport_->broken().empty();  // queued questions cannot be sent in time either
  for (const auto& [id, question] : open_) {
    if (question.sent || all) lost.push_back(id);
  }
  for (uint64_t id : lost) {
    ++numbers_.exited;
    finish(id, {false, text});
  }
}

}  // namespace lineward::plugins
