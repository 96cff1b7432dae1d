// Base of decorators of Upstream: everything is forwarded unless a subclass overrides it. A new member of
// Upstream must be forwarded here too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "proxy/core/upstream.h"

namespace lineward::core {

class PassingUpstream : public Upstream {
 public:
  explicit PassingUpstream(std::unique_ptr<Upstream> inner)
      : Upstream(inner->name()), owned_(std::move(inner)), inner_(owned_.get()) {}
  // Not owned: `inner` outlives this.
  explicit PassingUpstream(Upstream& inner) : Upstream(inner.name()), inner_(&inner) {}
  // Without an inner upstream: a method that the subclass does not override must not be called.
  explicit PassingUpstream(std::string name) : Upstream(std::move(name)), inner_(nullptr) {}

  Result<std::unique_ptr<Call>, Failure> start(UpstreamRequest&& request, CallCallbacks& owner) override {
    return inner_->start(std::move(request), owner);
  }
  void open_scope(const Scope& scope, ScopeCallbacks& owner) override { inner_->open_scope(scope, owner); }
  void close_scope(const Scope& scope) override { inner_->close_scope(scope); }
  void send(const Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const HeaderFields& headers) override {
    inner_->send(scope, client_era, message, headers);
  }
  ServerFacts facts() const override { return inner_->facts(); }
  UpstreamStatus status() const override { return inner_->status(); }
  UpstreamParts parts(const Scope& scope) override { return inner_->parts(scope); }
  void notice(UpstreamNotice what) override { inner_->notice(what); }
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
