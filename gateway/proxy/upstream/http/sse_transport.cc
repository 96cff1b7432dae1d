#include "proxy/upstream/http/sse_transport.h"

#include <fmt/format.h>

#include <utility>

#include "proxy/upstream/http/session_credentials.h"

namespace lineward::upstream {

using mcp::EndReason;

SseTransport::SseTransport(HttpPool& pool, const config::Server& server, SseTransportCallbacks& owner)
    : loop_(pool.loop()),
      pool_(pool),
      server_(server),
      owner_(owner),
      place_(pool.streams()),
      timer_(pool.loop()) {}

SseTransport::~SseTransport() {
  if (messages_) messages_->close();
}

void SseTransport::connect() {
  connecting_ = true;
  place_.take_anyway();  // SessionKeeper checks for room before it opens a session
  messages_ =
      std::make_unique<HttpMessages>(pool_, HttpRequest{"GET", owner_.headers(HttpVerb::get), {}, {}, false},
                                     server_.limits.max_message_bytes, *this);
  timer_.start(server_.timeouts.startup, [this] {
    fail(core::Failure{EndReason::timeout_startup,
                       fmt::format("named no endpoint for HTTP+SSE within {} ms (timeouts.startup)",
                                   server_.timeouts.startup.count())});
  });
}

void SseTransport::close() {
  timer_.stop();
  place_.give();
  if (messages_) messages_->close();
  loop_.retire(std::move(messages_));
}

void SseTransport::fail(core::Failure fault) {
  MessagesEnd end;
  end.kind = MessagesEnd::Kind::failed;
  end.fault = std::move(fault);
  fail(end);
}

void SseTransport::fail(const MessagesEnd& end) {
  close();
  connecting_ = false;
  owner_.on_sse_failed(end);
}

// ---- messages ----

void SseTransport::on_messages_open(HttpMessages&, const http::ResponseInfo& info) {
  owner_.credentials().take_cookies(info);
}

void SseTransport::on_message(HttpMessages&, mcp::Message&& message) {
  owner_.hear(std::move(message), nullptr);
}

void SseTransport::on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) {
  owner_.refuse_malformed(fault);
}

void SseTransport::on_other_event(HttpMessages&, const http::SseEvent& event) {
  if (event.event != "endpoint" || !connecting_) return;
  auto target = resolve_target(pool_.url(), event.data);
  if (!target) {
    return fail(core::Failure{EndReason::upstream_protocol,
                              "named an endpoint that is not used: " + target.error().text});
  }
  timer_.stop();
  connecting_ = false;
  endpoint_ = std::move(*target);
  owner_.on_sse_connected();
}

void SseTransport::on_messages_end(HttpMessages&, const MessagesEnd& end) {
  loop_.retire(std::move(messages_));
  place_.give();
  if (!connecting_) return owner_.on_sse_ended();
  if (end.kind != MessagesEnd::Kind::complete) return fail(end);
  fail(core::Failure{EndReason::upstream_protocol, end.is_stream
                                                       ? "ended its event stream before it named an endpoint"
                                                       : "answered a GET for HTTP+SSE with no event stream"});
}

}  // namespace lineward::upstream
