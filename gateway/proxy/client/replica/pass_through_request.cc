#include "proxy/client/replica/pass_through_request.h"

#include "protocol/http/header_list.h"
#include "protocol/mcp/errors.h"

namespace lineward::client {
namespace {

bool is_events(std::string_view type) {
  return http::equals_ignoring_case(http::trim_white_space(type.substr(0, type.find(';'))),
                                    "text/event-stream");
}

}  // namespace

PassThroughRequest::PassThroughRequest(net::Loop& loop, std::unique_ptr<PassedReply> reply, Over over)
    : loop_(loop), reply_(std::move(reply)), over_(std::move(over)) {
  reply_->on_client_left([this](mcp::EndReason) { finish(); });
}

PassThroughRequest::~PassThroughRequest() = default;

bool PassThroughRequest::begin(core::ExchangeApi& exchanges, const std::string& server,
                               core::HopRequest request) {
  hop_ = exchanges.hop(server, std::move(request), *this);
  return hop_ != nullptr;
}

void PassThroughRequest::give_up() {
  over_ = nullptr;
  reply_->release();
}

void PassThroughRequest::drain() {
  if (streams_) {
    reply_->end();
    return finish();
  }
  reply_->answer(mcp::error_message({}, 503, "the gateway is stopping"), 503);
  finish();
}

void PassThroughRequest::finish() {
  loop_.retire(std::move(hop_));
  if (auto over = std::exchange(over_, nullptr)) over(*this);
}

void PassThroughRequest::on_hop_head(int status, std::string type, core::HeaderFields headers) {
  status_ = status;
  type_ = std::move(type);
  headers_ = reply_->own_headers(headers);
  body_.clear();
  streams_ = status == 200 && is_events(type_);
  if (!streams_) return;
  headers_.push_back({"Cache-Control", "no-cache, no-transform"});
  headers_.push_back({"X-Accel-Buffering", "no"});
  reply_->head(status_, std::move(headers_), type_);
}

void PassThroughRequest::on_hop_body(std::string_view bytes) {
  if (!streams_) {
    body_ += bytes;
    return;
  }
  reply_->piece(bytes);
  hold_back();
}

void PassThroughRequest::hold_back() {
  if (paused_ || !hop_ || !reply_->above_high_watermark()) return;
  paused_ = true;
  hop_->pause();
  reply_->when_drained([this] {
    paused_ = false;
    if (hop_) hop_->resume();
  });
}

void PassThroughRequest::on_hop_end(const std::string& why) {
  if (!streams_) {
    reply_->whole(status_, std::move(headers_), type_, body_);
  } else if (why.empty()) {
    reply_->end();
  } else {
    reply_->cut();
  }
  finish();
}

}  // namespace lineward::client
