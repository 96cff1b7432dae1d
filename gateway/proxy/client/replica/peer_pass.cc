#include "proxy/client/replica/peer_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/client/replica/replicas.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {
namespace {

// A body with a length up to this is passed in one piece; a larger one in chunks.
constexpr uint64_t kShort = 64 * 1024;
constexpr std::string_view kEvents = "text/event-stream";
constexpr std::chrono::milliseconds kNoteLimit{10000};
constexpr int kPeerLost = mcp::row(mcp::EndReason::upstream_unreachable).code;

// A replica relies on these headers for authentication and protocol; a client's `Connection` must not remove
// them at this hop.
bool is_for_us(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames{
      "Authorization", "X-API-Key", "Accept", "Content-Type", "Last-Event-ID", "Cookie", "Origin"};
  for (std::string_view ours : {"Mcp-", "Lineward-"}) {
    if (http::equals_ignoring_case(name.substr(0, ours.size()), ours)) return true;
  }
  return std::any_of(kNames.begin(), kNames.end(),
                     [name](std::string_view one) { return http::equals_ignoring_case(one, name); });
}

// Hop-by-hop headers (RFC 9110 7.6.1), and those that this hop's own writer sets.
bool of_the_hop(std::string_view name, const http::HeaderList& headers) {
  static constexpr std::array<std::string_view, 12> kNames{
      "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate",
      "TE",         "Trailer",    "Upgrade",          "Transfer-Encoding",   "Content-Length",
      "Expect",     "Host"};
  auto same = [name](std::string_view one) { return http::equals_ignoring_case(one, name); };
  return std::any_of(kNames.begin(), kNames.end(), same) || same(kPassedHeader) || same(kPassedForHeader) ||
         (!is_for_us(name) && http::named_by_connection(headers, name));
}

uint64_t length_of(const http::HeaderList& headers) {
  std::string_view text = headers.get("Content-Length");
  uint64_t length = UINT64_MAX;
  if (!text.empty()) std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

}  // namespace

std::vector<http::OutHeader> headers_for_peer(const http::HeaderList& headers) {
  std::vector<http::OutHeader> out;
  for (const auto& header : headers.all()) {
    if (of_the_hop(header.name, headers)) continue;
    out.push_back({std::string(header.name), std::string(header.value)});
  }
  return out;
}

PeerPass::PeerPass(net::Loop& loop, std::shared_ptr<upstream::PeerLinks> peers, PeerPassPlan plan,
                   std::unique_ptr<PassedReply> reply, Over over)
    : loop_(loop),
      peers_(std::move(peers)),
      plan_(std::move(plan)),
      reply_(std::move(reply)),
      over_(std::move(over)),
      silence_(loop) {
  metrics::stats().count(metrics::Passed::out);
  reply_->on_client_left([this](mcp::EndReason) { finish(); });
  held_.charge(plan_.caller);
  held_.set(plan_.request.body.size() + plan_.body.size());
  // Only a short request is timed from here (is_kept_alive): a long one may take longer to send.
  if (plan_.is_kept_alive) watch_silence(Half::first);
  call_ = peers_->pass(plan_.peer, std::move(plan_.request), *this);
}

PeerPass::~PeerPass() = default;

void PeerPass::drain() {
  if (!plan_.is_stream) return;
  status_ != 0 ? reply_->end() : reply_->cut();
  finish();
}

void PeerPass::finish() {
  silence_.stop();
  call_.reset();
  if (auto over = std::exchange(over_, nullptr)) over(*this);
}

void PeerPass::on_peer_head(const http::ResponseInfo& info) {
  status_ = info.status;
  plan_.serve_here = nullptr;
  std::string().swap(plan_.body);
  held_.set(0);
  type_ = std::string(info.headers.get("Content-Type"));
  for (const auto& header : info.headers.all()) {
    if (of_the_hop(header.name, info.headers)) continue;
    if (http::equals_ignoring_case(header.name, "Content-Type") ||
        http::equals_ignoring_case(header.name, "Date"))
      continue;
    headers_.push_back({std::string(header.name), std::string(header.value)});
  }
  whole_ = status_ == 204 || status_ == 304 || length_of(info.headers) <= kShort;
  if (!whole_) reply_->head(status_, std::move(headers_), type_);
  if (silence_.running()) watch_silence(Half::first);
  if (type_.substr(0, kEvents.size()) != kEvents) return;
  if (!whole_ && !plan_.is_stream && !plan_.raw_id.empty()) events_.emplace(plan_.raw_id);
  watch_silence(Half::first);
}

// A replica may hang without closing the connection. The limit runs in two halves: after the machine was
// suspended one half has elapsed, and buffered bytes are read before the other half ends.
void PeerPass::watch_silence(Half half) {
  if (plan_.quiet_limit.count() == 0) return;
  silence_.start(plan_.quiet_limit / 2, [this, half] {
    if (half == Half::first) return watch_silence(Half::second);
    const std::string why = fmt::format("said nothing for {} ms", plan_.quiet_limit.count());
    if (status_ == 0 || whole_) return failed(call_ && call_->is_sent() ? Sent::perhaps : Sent::nothing, why);
    log::write(log::Level::warn, "peer.silent", {{"peer", plan_.peer}, {"ms", plan_.quiet_limit.count()}});
    metrics::stats().count(metrics::Passed::failed);
    break_off(why);
  });
}

// Sends the client of a call an error in place of the answer while the stream still permits that; otherwise
// the connection is cut.
void PeerPass::break_off(std::string_view why) {
  std::string text = fmt::format(
      "replica '{}', which holds this call, {} before it answered: it may have done what was asked",
      plan_.peer, why);
  const bool can_tell = events_ && events_->wants_answer();
  // The lost stream of a session is not a request without an answer.
  if (plan_.awaits_answer)
    tell_unanswered(status_, can_tell ? kPeerLost : 0, mcp::EndReason::upstream_unreachable, text);
  if (can_tell) {
    mcp::GatewayError error{
        .reason = mcp::EndReason::upstream_unreachable,
        .text = std::move(text),
        .upstream = plan_.server,
        .sent = true,
    };
    reply_->piece(fmt::format("data: {}\n\n", mcp::gateway_error(plan_.raw_id, error)));
    reply_->end();
  } else {
    reply_->cut();
  }
  finish();
}

void PeerPass::tell_unanswered(int status, int code, mcp::EndReason reason, std::string_view why) {
  if (plan_.unanswered && reply_->has_client()) plan_.unanswered({status, code, reason, why, {}});
}

void PeerPass::count_held() {
  held_.set(body_.size() + (events_ ? events_->kept() : 0));
}

void PeerPass::on_peer_body(std::string_view bytes) {
  if (silence_.running()) watch_silence(Half::first);
  if (whole_) {
    body_ += bytes;
    return count_held();
  }
  if (events_) {
    events_->passed(bytes);
    count_held();
  }
  reply_->piece(bytes);
  hold_back();
}

void PeerPass::hold_back() {
  if (paused_ || !call_ || !reply_->above_high_watermark()) return;
  paused_ = true;
  const bool watched = silence_.running();
  silence_.stop();
  call_->pause();
  reply_->when_drained([this, watched] {
    paused_ = false;
    if (call_) call_->resume();
    if (call_ && watched) watch_silence(Half::first);
  });
}

void PeerPass::on_peer_complete() {
  if (whole_) {
    reply_->whole(status_, std::move(headers_), type_, body_);
  } else {
    reply_->end();
  }
  finish();
}

// A session is lost with its replica. Clients understand 404 and send a new `initialize`. A request that the
// replica may have begun is not answered with 404, because it may have had an effect.
void PeerPass::failed(Sent sent, const std::string& why) {
  const bool nothing_sent = sent == Sent::nothing;
  log::write(log::Level::warn, "peer.failed", {{"peer", plan_.peer}, {"why", why}, {"sent", !nothing_sent}});
  metrics::stats().count(metrics::Passed::failed);
  if (status_ != 0 && !whole_) return break_off("went away");
  if (nothing_sent && plan_.serve_here && reply_->release()) {
    auto serve_here = std::move(plan_.serve_here);
    std::string body = std::move(plan_.body);
    finish();
    return serve_here(std::move(body));
  }
  if (nothing_sent && !plan_.lost.empty()) {
    tell_unanswered(200, mcp::kInvalidParams, mcp::EndReason::invalid_request, plan_.lost_why);
    reply_->answer(plan_.lost, 200);
    return finish();
  }
  std::string text = fmt::format("replica '{}', which holds this session, ", plan_.peer);
  if (nothing_sent || plan_.raw_id.empty()) {
    text += nothing_sent ? "cannot be reached: initialize anew" : "went away: try again, or initialize anew";
    int status = nothing_sent ? 404 : 502;
    tell_unanswered(status, status, mcp::EndReason::upstream_unreachable, text);
    reply_->answer(mcp::error_message(plan_.raw_id, status, "Session not found: " + text), status);
  } else {
    mcp::GatewayError error{
        .reason = mcp::EndReason::upstream_unreachable,
        .text = text + "went away before it answered: it may have done what was asked",
        .upstream = plan_.server,
        .sent = true,
    };
    tell_unanswered(200, kPeerLost, mcp::EndReason::upstream_unreachable, error.text);
    reply_->answer(mcp::gateway_error(plan_.raw_id, error), 200);
  }
  finish();
}

PeerNote::PeerNote(net::Loop& loop, std::shared_ptr<upstream::PeerLinks> peers, const std::string& peer,
                   AccountPtr caller, upstream::PeerRequest request, Over over)
    : peers_(std::move(peers)),
      peer_(peer),
      caller_(std::move(caller)),
      over_(std::move(over)),
      limit_(loop) {
  held_.charge(caller_);
  held_.set(request.body.size());
  metrics::stats().count(metrics::Passed::out);
  limit_.start(kNoteLimit, [this] { failed(); });
  call_ = peers_->pass(peer, std::move(request), *this);
}

void PeerNote::failed() {
  metrics::stats().count(metrics::Passed::failed);
  finish();
}

void PeerNote::finish() {
  limit_.stop();
  call_.reset();
  if (auto over = std::exchange(over_, nullptr)) over(*this);
}

}  // namespace lineward::client
