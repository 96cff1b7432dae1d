#include "proxy/upstream/http/http_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "foundation/base/string_pool.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"
#include "protocol/http/header_list.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/own_id.h"

namespace lineward::upstream {
namespace {

using mcp::EndReason;

bool media_type_is(std::string_view value, std::string_view type) {
  return http::equals_ignoring_case(http::trim_white_space(value.substr(0, value.find(';'))), type);
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// A short media type is safe to show; anything else is not.
std::string shown_type(std::string_view value) {
  std::string_view type = http::trim_white_space(value.substr(0, value.find(';')));
  if (type.empty()) return "no content type";
  if (type.size() > 60) return "an unknown content type";
  return std::string(type);
}

// 0 if absent; the parser has checked the digits.
uint64_t announced_length(const http::ResponseInfo& info) {
  std::string_view digits = info.headers.get("Content-Length");
  uint64_t length = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  return error == std::errc::result_out_of_range ? UINT64_MAX : length;
}

// Room for an id that is longer in the client's message than in the server's.
constexpr size_t kSpare = 64;

// Events of one stream before others get their turn.
constexpr size_t kEventsPerTurn = 256;

// The target of a redirect, without parts that may be secret: user, query and fragment.
std::string shown_location(std::string_view value) {
  constexpr size_t kMaxLength = 200;
  value = value.substr(0, value.find_first_of("?#"));
  std::string out;
  size_t authority = value.find("//");
  if (authority != std::string_view::npos) {
    size_t end = std::min(value.find('/', authority + 2), value.size());
    size_t user = value.substr(authority + 2, end - authority - 2).rfind('@');
    out = value.substr(0, authority + 2);
    value.remove_prefix(authority + 2 + (user == std::string_view::npos ? 0 : user + 1));
  }
  out += value;
  for (char& c : out) {
    if (c <= ' ' || c >= 0x7f) c = '?';
  }
  return out.size() > kMaxLength ? log::Excerpt(out, kMaxLength).string() + "..." : out;
}

constexpr size_t kMaxWords = 300;     // of a server, in Lineward's errors
constexpr size_t kMaxRefusal = 4096;  // bytes of a body that are searched for them
// Bytes kept: a secret at the end of the searched bytes is recognised only by what follows.
constexpr size_t kMaxKept = kMaxRefusal + log::Excerpt::kFurther;

bool is_text(std::string_view type) {
  type = http::trim_white_space(type.substr(0, type.find(';')));
  const bool json = type.size() > 5 && http::equals_ignoring_case(type.substr(type.size() - 5), "+json");
  return type.empty() || json || http::equals_ignoring_case(type.substr(0, 5), "text/");
}

// The visible text of a page, roughly: without tags, scripts and styles.
std::string shown_text(std::string_view html) {
  std::string out;
  while (!html.empty()) {
    const size_t tag = std::min(html.find('<'), html.size());
    out += html.substr(0, tag);
    html.remove_prefix(tag);
    for (std::string_view hidden : {"script", "style"}) {
      if (html.size() <= hidden.size() || !http::equals_ignoring_case(html.substr(1, hidden.size()), hidden))
        continue;
      html.remove_prefix(std::min(html.find("</", 1), html.size()));
    }
    html.remove_prefix(html.empty() ? 0 : std::min(html.find('>'), html.size() - 1) + 1);
    out += ' ';
  }
  return out;
}

// Replaces each run of white space by one space.
std::string one_line(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (!space) out += c;
    if (space && !out.empty() && out.back() != ' ') out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// The failure for a status without an MCP error in its body.
core::Failure fault_of_status(int status, const std::string& location) {
  switch (status) {
    case 401: return {EndReason::unauthorized, "refused the credentials (401)"};
    case 403: return {EndReason::forbidden, "refused access (403)"};
    case 407: return {EndReason::upstream_unreachable, "its proxy refused our credentials (407)"};
    case 429: return {EndReason::rate_limited, "limits the rate of requests (429)"};
    case 502:
    case 503:
    case 504: return {EndReason::upstream_unreachable, fmt::format("is not available (HTTP {})", status)};
    default: break;
  }
  if (status >= 300 && status < 400 && status != 304) {
    return {EndReason::upstream_protocol,
            fmt::format("answered with a redirect ({}){}, which is not followed", status,
                        location.empty() ? "" : " to " + location)};
  }
  return {EndReason::upstream_protocol, fmt::format("answered with HTTP {}", status)};
}

}  // namespace

HttpMessages::HttpMessages(HttpPool& pool, HttpRequest&& request, uint64_t max_message_bytes,
                           MessagesCallbacks& owner)
    : pool_(pool),
      max_message_bytes_(max_message_bytes),
      owner_(&owner),
      receipt_only_(request.receipt_only) {
  transfer_ = std::make_unique<HttpTransfer>(pool, std::move(request), *this);
}

void HttpMessages::close() {
  owner_ = nullptr;
  if (!transfer_) return;
  transfer_->close();
  pool_.loop().retire(std::move(transfer_));
}

void HttpMessages::finish_quietly() {
  owner_ = nullptr;
  if (transfer_) HttpTransfer::finish_quietly(std::move(transfer_));
}

void HttpMessages::on_transfer_head(const http::ResponseInfo& info) {
  status_ = info.status;
  if (status_ == 401 || status_ == 403 || status_ == 429) challenge_ = challenge_headers(info.headers);
  std::string_view type = info.headers.get("Content-Type");
  if (status_ >= 300 && status_ < 400) location_ = shown_location(info.headers.get("Location"));
  std::string_view coding = info.headers.get("Content-Encoding");
  if (!coding.empty() && !http::equals_ignoring_case(coding, "identity") && !transfer_->inflates()) {
    return fail(EndReason::upstream_protocol, "sent a response in a content coding that was not requested");
  }
  json_ = media_type_is(type, "application/json");
  html_ = media_type_is(type, "text/html");
  words_ = !is_success(status_) && !json_ && is_text(type);
  if (receipt_only_ && is_success(status_)) {
    json_ = false;
    return owner_->on_messages_open(*this, info);
  }
  if (is_success(status_) && media_type_is(type, "text/event-stream")) {
    sse_ = std::make_unique<http::SseParser>(http::SseLimits{static_cast<size_t>(max_message_bytes_) + 64,
                                                             static_cast<size_t>(max_message_bytes_)});
    transfer_->unlimited_body();
  } else if (is_success(status_) && status_ != 202 && status_ != 204 && !json_ &&
             info.headers.get("Content-Length") != "0") {
    return fail(EndReason::upstream_protocol,
                fmt::format("answered with {}, not with MCP", shown_type(type)));
  }
  announced_ = sse_ ? 0 : announced_length(info);
  if (announced_ > max_message_bytes_) {
    pool_.count(metrics::MessageError::oversize);
    return fail(
        EndReason::upstream_protocol,
        fmt::format("announced a body of more than {} bytes (limits.maxMessageBytes)", max_message_bytes_));
  }
  owner_->on_messages_open(*this, info);
}

void HttpMessages::on_transfer_body(std::string_view bytes) {
  if (sse_) {
    sse_->append(bytes);
    read_events();
    return held_.set(sse_->kept());
  }
  // A body that is neither JSON nor text is not kept.
  if (words_) {
    body_.append(bytes, 0, std::min(bytes.size(), kMaxKept - body_.size()));
    return held_.set(body_.size());
  }
  if (!json_) return;
  const size_t needed = body_.size() + bytes.size();
  if (body_.capacity() < needed) {
    // Sixteen times as much as came: an announcement alone costs a peer nothing.
    if (needed <= announced_ && needed > StringPool::kMaxBytes)
      body_.reserve(std::min<uint64_t>(announced_, 16 * needed) + kSpare);
    else if (body_.empty())
      StringPool::renew(body_, needed + kSpare);
  }
  body_ += bytes;
  held_.set(body_.size());
  outline_.more(body_);
}

void HttpMessages::read_events() {
  for (size_t events = 1; owner_ != nullptr; ++events) {
    // Yields to other streams after a batch of events.
    if (events == kEventsPerTurn && transfer_) transfer_->leave_to_others();
    switch (sse_->next()) {
      case http::SseParser::Next::need_more:
        return count_useless(sse_->empty_lines() - std::exchange(empty_lines_, sse_->empty_lines()));
      case http::SseParser::Next::failed:
        pool_.count(metrics::MessageError::oversize);
        return fail(
            EndReason::upstream_protocol,
            fmt::format("sent a message of more than {} bytes (limits.maxMessageBytes)", max_message_bytes_));
      case http::SseParser::Next::event: break;
    }
    http::SseEvent event = sse_->take_event();
    const uint64_t before = pool_.useless();
    if (event.data.empty()) {  // priming
      pool_.note_useless();
    } else if (event.event != "message") {
      pool_.note_useless();
      owner_->on_other_event(*this, event);
    } else if (auto fault = read(json::Text{std::move(event.data), std::move(event.outline)})) {
      drop(*fault);  // heartbeats and the like: what else the stream carries goes on
    }
    count_useless(pool_.useless() - before);
  }
}

// The limit of a stdio server's lines. Messages that belong to nothing are counted by their receivers.
void HttpMessages::count_useless(uint64_t events) {
  if (events == 0 || owner_ == nullptr || !flood_.is_over(events, pool_.loop().now())) return;
  core::Failure fault{
      EndReason::upstream_protocol,
      fmt::format("flooded its event stream: events that are no messages, or belong to nothing "
                  "({} at once, then {} a second)",
                  LineFlood::kBurst, LineFlood::kPerSecond)};
  log::write(log::Level::warn, "upstream.stream_flooded",
             {{"upstream", pool_.server()}, {"why", fault.text}});
  end({.kind = MessagesEnd::Kind::failed, .status = status_, .fault = std::move(fault), .flooded = true});
}

// A batch of 2025-03-26, or an array of one, which some servers write in any revision: each element is
// handled separately.
std::optional<mcp::MessageFault> HttpMessages::read(json::Text text) {
  auto message = mcp::Message::parse(std::move(text));
  if (message) {
    if (message->kind() == mcp::MessageKind::request && message->method() == "ping") pool_.note_useless();
    owner_->on_message(*this, std::move(*message));
    return std::nullopt;
  }
  mcp::MessageFault& fault = message.error();
  if (fault.kind != mcp::MessageFault::Kind::batch) return std::move(fault);
  auto elements = mcp::batch_elements(fault.bytes);
  if (elements.size() > mcp::kMaxInBatch) fault.text = mcp::too_many_in_batch();
  if (elements.empty() || elements.size() > mcp::kMaxInBatch) return std::move(fault);
  for (std::string& element : elements) {
    if (owner_ == nullptr) break;
    if (auto wrong = read(json::Text{std::move(element), nullptr})) drop(*wrong);
  }
  return std::nullopt;
}

// Only a call that it was meant to answer may be waiting for it.
void HttpMessages::drop(const mcp::MessageFault& fault) {
  pool_.count(fault);
  pool_.log_dropped(fault.names_method() ? "malformed" : "no_message");
  dropped_ = fault.text;
  if (!fault.names_method()) return owner_->on_no_message(*this, fault);
  if (!fault.raw_id.empty()) owner_->on_malformed_request(*this, fault);
}

bool HttpMessages::is_broken_answer(const mcp::MessageFault& fault, int64_t id) {
  const mcp::RecoveredIds found = mcp::recover_ids(fault.bytes);
  return found.is_answer && std::any_of(found.raw_ids.begin(), found.raw_ids.end(),
                                        [id](const std::string& raw) { return own_id(raw) == id; });
}

void HttpMessages::on_transfer_complete() {
  if (sse_) {
    return end({.status = status_, .is_stream = true});
  }
  if (!is_success(status_)) return refused();
  if (json_ && !body_.empty()) {
    auto fault = read(json::Text{std::move(body_), outline_.take()});
    if (owner_ == nullptr) return;
    if (fault && status_ == kAccepted) {
      drop(*fault);  // after 202 the answer comes on another stream
    } else if (fault) {
      pool_.count(*fault);
      return fail(EndReason::upstream_protocol, "sent a broken answer: " + fault->text);
    }
  }
  end({.status = status_});
}

// The server's reason for a refusal: the message of an MCP error, or else the text of the body. Lineward's
// credentials are removed, even if cut off at the end.
std::string HttpMessages::server_words(const std::optional<mcp::Message>& answer) const {
  if (!answer && !words_ && !json_) return {};
  std::string said = answer ? answer->text(mcp::Field::error_message) : body_.substr(0, kMaxKept);
  if (said.size() > kMaxKept) said.resize(kMaxKept);
  if (transfer_) said = transfer_->without_credentials(std::move(said));
  const log::Excerpt words(said, kMaxRefusal);
  return sanitize(one_line(!answer && html_ ? shown_text(words) : words.string()), kMaxWords);
}

// The body of a refusal may hold an MCP error, which is more specific than the status.
void HttpMessages::refused() {
  std::optional<mcp::Message> answer;
  if (json_) {
    auto elements = mcp::batch_elements(body_, 1);
    auto message =
        mcp::Message::parse(elements.size() == 1 ? std::move(elements.front()) : std::string(body_));
    if (message && message->kind() == mcp::MessageKind::error) answer = std::move(*message);
  }
  const std::string words = server_words(answer);
  const bool no_such_method = answer && mcp::error_code(*answer) == mcp::kMethodNotFound;
  if (answer) {
    owner_->on_message(*this, std::move(*answer));
    if (owner_ == nullptr) return;
  }
  core::Failure fault = fault_of_status(status_, location_);
  if (!words.empty()) fault.text += ": " + words;
  end({.kind = MessagesEnd::Kind::refused,
       .status = status_,
       .fault = std::move(fault),
       .no_such_method = no_such_method,
       .challenge = std::move(challenge_)});
}

void HttpMessages::on_transfer_failed(const core::Failure& fault) {
  if (fault.oversize) pool_.count(metrics::MessageError::oversize);
  // A refusal with a truncated body is still a refusal.
  if (status_ != 0 && !is_success(status_) && !json_) return refused();
  end({.kind = MessagesEnd::Kind::failed, .status = status_, .fault = fault, .is_stream = is_stream()});
}

void HttpMessages::fail(EndReason reason, std::string text) {
  end({.kind = MessagesEnd::Kind::failed, .status = status_, .fault = {reason, std::move(text)}});
}

void HttpMessages::end(MessagesEnd end) {
  end.dropped = std::move(dropped_);
  if (MessagesCallbacks* owner = std::exchange(owner_, nullptr)) owner->on_messages_end(*this, end);
  close();
}

}  // namespace lineward::upstream
