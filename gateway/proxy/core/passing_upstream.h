// Base of decorators of Upstream: everything is forwarded unless a subclass overrides it. A new member of
// Upstream must be forwarded here too.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/core/upstream.h"

namespace lineward::core {

class PassingUpstream : public Upstream {
 public:
  explicit PassingUpstream(std::unique_ptr<Upstream> inner)
      : owned_(std::move(inner)), inner_(owned_.get()) {}
  // Not owned: `inner` outlives this.
  explicit PassingUpstream(Upstream& inner) : inner_(&inner) {}

  const std::string& name() const override { return inner_->name(); }
  Result<std::unique_ptr<Call>, Failure> start(UpstreamRequest&& request, CallCallbacks& owner) override {
    return inner_->start(std::move(request), owner);
  }
  Result<std::unique_ptr<WaitingPermit>, Failure> wait_in_front(const UpstreamRequest& request) override {
    return inner_->wait_in_front(request);
  }
  void open_scope(const Scope& scope, ScopeCallbacks& owner) override { inner_->open_scope(scope, owner); }
  void close_scope(const Scope& scope) override { inner_->close_scope(scope); }
  PortableScopes* portable(const Scope& scope) override { return inner_->portable(scope); }
  void forward(const Scope& scope, mcp::Era client_era, const mcp::Message& message) override {
    inner_->forward(scope, client_era, message);
  }
  void notify(const Scope& scope, mcp::Era client_era, const mcp::Message& message,
              const HeaderFields& headers) override {
    inner_->notify(scope, client_era, message, headers);
  }
  std::optional<std::vector<std::string>> versions() const override { return inner_->versions(); }
  std::optional<bool> keeps_sessions() const override { return inner_->keeps_sessions(); }
  void pass_notification(const mcp::Message& message, const HeaderFields& headers) override {
    inner_->pass_notification(message, headers);
  }
  std::unique_ptr<Hop> hop(HopRequest request, HopListener& listener) override {
    return inner_->hop(std::move(request), listener);
  }
  std::optional<mcp::Era> era() const override { return inner_->era(); }
  Tells tells() const override { return inner_->tells(); }
  UpstreamStatus status() const override { return inner_->status(); }
  void wake() override { inner_->wake(); }
  void reconfigured() override { inner_->reconfigured(); }
  void retire() override { inner_->retire(); }
  void stop(std::function<void()> done) override {
    stopping_ = true;
    inner_->stop(std::move(done));
  }

 protected:
  const std::unique_ptr<Upstream> owned_;
  Upstream* const inner_;  // outlives the calls of it that subclasses hold
  bool stopping_ = false;
};

}  // namespace lineward::core
