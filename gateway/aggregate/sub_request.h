// One request to one server of the aggregate, with a limit of its own and one answer: a part of a merged
// answer, or something Lineward wants to know itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aggregate/member.h"
#include "core/upstream.h"
#include "net/loop.h"

namespace lineward::aggregate {

class SubRequest final : public core::CallOwner {
 public:
  // Called once, never from ask(). The sub-request may be given to Loop::retire() from inside.
  using Done = std::function<void(Result<mcp::Message, core::Failure> answer)>;
  // What comes before the answer: notifications of the call.
  using Heard = std::function<void(mcp::Message message)>;

  SubRequest(net::Loop& loop, std::shared_ptr<Member> member)
      : member_(std::move(member)), loop_(loop), limit_(loop) {}
  ~SubRequest();
  SubRequest(const SubRequest&) = delete;
  SubRequest& operator=(const SubRequest&) = delete;

  // `limit`: at most that long, in all; the limits that its server has for such a call count below it, and
  // the client's wish (CallRequest::wait).
  void ask(core::CallRequest request, std::chrono::milliseconds limit, Done done, Heard heard = nullptr);
  // Before ask(): as yet nobody is held up by it. Until somebody is, no more than its server's own limits
  // count while it waits in line or for the start; once its server has it, `limit` from then on.
  void hold_nobody_up(std::chrono::milliseconds limit) { alone_ = limit; }
  // From here on somebody is: the limit of ask() counts, from the beginning. Where it is over the request
  // ends soon, not from inside.
  void hold_others_up();
  // Nothing is called after this.
  void cancel(core::CancelCause why);

  const std::shared_ptr<Member>& member() const { return member_; }
  // Its server has been given it: what was answered from memory says nothing of the server.
  bool reached_server() const { return phase_ == core::CallPhase::written; }

 private:
  void on_call_phase(core::CallPhase phase) override;
  void on_call_message(mcp::Message&& message) override;
  void on_call_failed(const core::Failure& failure) override;
  void finish(Result<mcp::Message, core::Failure> answer);
  void set_clock();
  void late(mcp::EndReason reason, std::chrono::milliseconds limit, std::string_view option);
  bool has_been_sent() const { return sent_at_.count() != 0; }

  std::shared_ptr<Member> member_;
  std::shared_ptr<void> lease_;
  net::Loop& loop_;
  net::Timer limit_;
  std::chrono::milliseconds most_{0};               // in all; below it the server's own limits count
  std::optional<std::chrono::milliseconds> alone_;  // in its place while nobody is held up
  config::Timeouts own_;
  std::string method_;
  core::CallPhase phase_ = core::CallPhase::queued;
  bool answered_ = false;  // and a plugin has the answer
  std::chrono::milliseconds begun_at_{0}, phase_since_{0}, last_progress_{0};
  std::chrono::milliseconds sent_at_{0};                       // first; 0: not yet
  std::chrono::milliseconds queued_for_{0}, starting_for_{0};  // before this phase
  Done done_;
  Heard heard_;
  std::unique_ptr<core::Call> call_;
  net::Lifetime lifetime_;
};

// A request of Lineward's own, made as the client of `like` would make it. `members`: of params, raw, or
// empty.
core::CallRequest own_request(const core::CallRequest& like, mcp::Method method, std::string_view members);

}  // namespace lineward::aggregate
