// The half of HttpReply that gives a client the response of another replica (client/peer_pass.h).
#include <utility>

#include "client/client_connection.h"
#include "client/http_reply.h"

namespace lineward::client {

std::vector<http::OutHeader> HttpReply::own_headers() {
  std::vector<http::OutHeader> out;
  if (connection_ == nullptr) return out;
  for (auto& [name, value] : std::exchange(extra_, {}))
    out.push_back({std::move(name), std::move(value)});
  connection_->add_headers(out);
  return out;
}

http::ResponseHead HttpReply::passed_head(int status, std::vector<http::OutHeader> headers,
                                          std::string_view type) {
  head_sent_ = true;
  status_ = status;
  keep_alive_ = options_.minor_version == 1 && connection_->may_keep_alive();
  http::ResponseHead head;
  head.status = status;
  head.keep_alive = keep_alive_;
  head.minor_version = options_.minor_version;
  head.content_type = type;
  head.headers = std::move(headers);
  return head;
}

void HttpReply::pass_whole(int status, std::vector<http::OutHeader> headers, std::string_view type,
                           const std::string& body) {
  if (connection_ == nullptr || head_sent_) return;
  write(http::full_response(passed_head(status, std::move(headers), type), body), true);
  done();
}

void HttpReply::pass_head(int status, std::vector<http::OutHeader> headers, std::string_view type) {
  if (connection_ == nullptr || head_sent_) return;
  write(http::streaming_head(passed_head(status, std::move(headers), type)), true);
}

void HttpReply::pass_piece(std::string_view bytes) {
  if (connection_ != nullptr && !finished_) write(http::body_piece(bytes, options_.minor_version), true);
}

void HttpReply::pass_end() {
  if (connection_ == nullptr || finished_) return;
  write(http::body_end(options_.minor_version), true);
  done();
}

bool HttpReply::release() {
  if (connection_ == nullptr || head_sent_) return false;
  finished_ = true;
  gone_ = nullptr;
  timer_.stop();
  std::exchange(connection_, nullptr)->attach(nullptr);
  return true;
}

}  // namespace lineward::client
