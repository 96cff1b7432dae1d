#include "proxy/upstream/layers/cache_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// Dropped lists are often requested again at once.
constexpr milliseconds kLinger{1000};
// A server that refused a listen is not asked again for this time.
constexpr milliseconds kRefusal{60000};

}  // namespace

CacheWatch::CacheWatch(net::Loop& loop, core::UpstreamRequest request, std::function<void()> unheard,
                       std::function<void()> over)
    : loop_(loop),
      request_(std::move(request)),
      unheard_(std::move(unheard)),
      over_(std::move(over)),
      timer_(loop) {
  held_bytes_.set(request_.message.bytes().size());
}

CacheWatch::~CacheWatch() {
  if (call_ && call_->live()) call_->cancel("nothing of it is kept any more");
}

void CacheWatch::listen(core::Upstream& inner) {
  auto call = inner.start(core::UpstreamRequest(request_), *this);
  if (call) {
    call_ = std::move(*call);
  } else {
    ended();
  }
}

void CacheWatch::listen_again(core::Upstream& inner) {
  refused_ = stood_ = false;
  timer_.start(std::max(until_ - loop_.now(), milliseconds(0)), over_);
  listen(inner);
}

void CacheWatch::hold(milliseconds until) {
  ++held_;
  until_ = std::max(until_, until);
  if (!refused_) timer_.start(std::max(until_ - loop_.now(), milliseconds(0)), over_);
}

void CacheWatch::let_go() {
  if (--held_ > 0) return;
  until_ = milliseconds(0);
  if (!refused_) timer_.start(kLinger, over_);
}

void CacheWatch::on_call_message(mcp::Message&& message) {
  if (message.kind() != mcp::MessageKind::notification) return ended();
  if (mcp::method_of(message.method()) != Method::subscriptions_acknowledged) return;
  // The server grants no notification.
  bool nothing = message.raw(Field::params_notifications).find("true") == std::string_view::npos;
  if (!nothing) {
    if (!std::exchange(stood_, true)) unheard_();
  } else if (!stood_) {
    call_->cancel("it would tell nothing");
    ended();
  }
}

// Later changes will not be received.
void CacheWatch::ended() {
  refused_ = true;
  loop_.retire(std::move(call_));
  timer_.start(stood_ ? kLinger : kRefusal, over_);
  if (stood_) unheard_();
}

core::UpstreamRequest watch_request(const core::UpstreamRequest& like, const core::Tells& tells) {
  std::string lists;
  auto add = [&](bool told, std::string_view key) {
    if (told) lists += fmt::format("{}\"{}\":true", lists.empty() ? "" : ",", key);
  };
  add(tells.tools, "toolsListChanged");
  add(tells.prompts, "promptsListChanged");
  add(tells.resources, "resourcesListChanged");
  std::string meta;
  for (auto [field, key] : {std::pair(Field::meta_protocol_version, "protocolVersion"),
                            std::pair(Field::meta_client_info, "clientInfo"),
                            std::pair(Field::meta_client_capabilities, "clientCapabilities")}) {
    if (!like.message.has(field)) continue;
    meta += fmt::format(R"({}"io.modelcontextprotocol/{}":{})", meta.empty() ? "" : ",", key,
                        like.message.raw(field));
  }
  core::UpstreamRequest request;
  auto message = mcp::Message::parse(
      fmt::format(
          R"({{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen","params":{{"_meta":{{{}}},"notifications":{{{}}}}}}})",
          meta, lists),
      json::kDepthCeiling);
  if (message) request.message = std::move(*message);
  request.method = Method::subscriptions_listen;
  request.client_era = mcp::Era::modern;
  request.scope = like.scope;
  request.of_gateway = true;
  request.headers = headers_of_client(like.headers);
  return request;
}

}  // namespace lineward::upstream
