// A request to one server of the aggregate, with its own limit and one answer. The answer is a part of a
// merged one, or for Lineward itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "foundation/net/loop.h"
#include "proxy/aggregate/member.h"
#include "proxy/core/upstream.h"

namespace lineward::aggregate {

class SubRequest final : public core::CallCallbacks {
 public:
  // Called once, never from ask(). The sub-request may be passed to Loop::retire() from inside.
  using Done = std::function<void(Result<mcp::Message, core::Failure> answer)>;
  // Called with notifications of the call before the answer.
  using OnMessage = std::function<void(mcp::Message message)>;

  SubRequest(net::Loop& loop, std::shared_ptr<Member> member)
      : member_(std::move(member)), loop_(loop), limit_(loop) {}
  ~SubRequest();
  SubRequest(const SubRequest&) = delete;
  SubRequest& operator=(const SubRequest&) = delete;

  // `limit`: the maximum in all; shorter limits of the server for such a call apply, and the client's wish
  // (UpstreamRequest::wait).
  void ask(core::UpstreamRequest request, std::chrono::milliseconds limit, Done done,
           OnMessage on_message = nullptr);
  // To be called before ask(): nothing waits for it yet. Until hold_others_up(), only its server's own limits
  // apply while it is queued or the server starts; once the request is sent, `limit` applies.
  void hold_nobody_up(std::chrono::milliseconds limit) { alone_ = limit; }
  // Other parts wait for it now: the limit of ask() applies, from the beginning. If it is over, the request
  // ends soon, not synchronously.
  void hold_others_up();
  // No callback follows.
  void cancel(core::CancelCause why);

  const std::shared_ptr<Member>& member() const { return member_; }
  // The request was sent to its server: a cached answer shows nothing about the server.
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
  std::chrono::milliseconds most_{0};               // in all; shorter limits of the server apply
  std::optional<std::chrono::milliseconds> alone_;  // replaces it while nothing waits for it
  config::Timeouts own_;
  std::string method_;
  core::CallPhase phase_ = core::CallPhase::queued;
  bool answered_ = false;  // and a plugin has the answer
  std::chrono::milliseconds begun_at_{0}, phase_since_{0}, last_progress_{0};
  std::chrono::milliseconds sent_at_{0};                       // first time; 0: not yet
  std::chrono::milliseconds queued_for_{0}, starting_for_{0};  // before this phase
  Done done_;
  OnMessage on_message_;
  std::unique_ptr<core::Call> call_;
  net::Lifetime lifetime_;
};

// Lineward's own request, in the name of the client of `like`. `members`: of params, raw, or empty.
core::UpstreamRequest own_request(const core::UpstreamRequest& like, mcp::Method method,
                                  std::string_view members);

}  // namespace lineward::aggregate
