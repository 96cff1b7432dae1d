#include "proxy/plugin/hook_chain.h"

namespace lineward::plugin {

bool HookChain::attach(ExchangeView& view, std::string_view server, ServerRole role) {
  hooks_ = set_->attach(view, server, role);
  return !hooks_.empty();
}

// `call` gets the index of the hook in the direction of travel.
template <class Call>
Verdict HookChain::run(size_t count, Call&& call) {
  if (waiting_ && !resumed_) return Verdict::wait;
  while (at_ < count) {
    Verdict verdict{};
    if (resumed_) {
      verdict = *resumed_;
      resumed_.reset();
      waiting_ = false;
    } else {
      running_ = true;
      verdict = call(at_);
      running_ = false;
      // resume() may have been called before the hook returned.
      if (verdict == Verdict::wait && resumed_) continue;
    }
    if (verdict == Verdict::wait) {
      ++hooks_[last_].member->decisions.waited;
      waiting_ = true;
      return verdict;
    }
    if (verdict == Verdict::answered) {
      at_ = 0;
      return verdict;
    }
    ++hooks_[last_].member->decisions.proceeded;
    ++at_;
  }
  at_ = 0;
  return Verdict::proceed;
}

Verdict HookChain::client_message(ExchangeView& view, mcp::Message& message) {
  return run(hooks_.size(), [&](size_t at) {
    last_ = at;
    return hooks_[last_].hook->on_client_message(view, message);
  });
}

Verdict HookChain::upstream_message(ExchangeView& view, mcp::Message& message) {
  return run(hooks_.size(), [&](size_t at) {
    last_ = hooks_.size() - 1 - at;
    return hooks_[last_].hook->on_upstream_message(view, message);
  });
}

void HookChain::client_answer(ExchangeView& view, mcp::Message& message) {
  for (auto& attached : hooks_)
    attached.hook->on_client_answer(view, message);
}

void HookChain::failure_text(std::string& text) {
  for (auto attached = hooks_.rbegin(); attached != hooks_.rend(); ++attached)
    attached->hook->on_failure_text(text);
}

void HookChain::resume(Verdict verdict) {
  if (ended_ || (!waiting_ && !running_) || resumed_) return;
  resumed_ = verdict == Verdict::wait ? Verdict::proceed : verdict;
  if (!running_) moved_();
}

void HookChain::end(const ExchangeView& view, const Ending& ending) {
  if (ended_) return;
  ended_ = true;
  for (auto& attached : hooks_)
    attached.hook->on_end(view, ending);
}

std::string_view HookChain::waits_for() const {
  return waiting_ ? last() : std::string_view();
}

std::string_view HookChain::last() const {
  return hooks_.empty() ? std::string_view() : hooks_[last_].member->entry.name;
}

void HookChain::note(Did did) {
  if (hooks_.empty()) return;
  Decisions& decisions = hooks_[last_].member->decisions;
  switch (did) {
    case Did::refuse: ++decisions.refused; break;
    case Did::answer: ++decisions.answered; break;
    case Did::drop: ++decisions.dropped; break;
    case Did::fail: ++decisions.failed; break;
  }
}

}  // namespace lineward::plugin
