#include "proxy/client/replica/passed_reply.h"

#include <utility>

#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/resource_names.h"

namespace lineward::client {

void PassedReply::whole(int status, std::vector<http::OutHeader> headers, std::string_view type,
                        const std::string& body) {
  if (!may_answer()) return;
  http::ResponseHead head = begin_head(status, type);
  head.headers = std::move(headers);
  write(http::full_response(head, body));
  done();
}

void PassedReply::head(int status, std::vector<http::OutHeader> headers, std::string_view type) {
  if (!may_answer()) return;
  http::ResponseHead head = begin_head(status, type);
  head.headers = std::move(headers);
  write(http::streaming_head(head));
}

void PassedReply::piece(std::string_view bytes) {
  if (connected() && !finished_) write(http::body_piece(bytes, options_.minor_version));
}

void PassedReply::end() {
  if (!connected() || finished_) return;
  write(http::body_end(options_.minor_version));
  done();
}

void PassedReply::answer(const std::string& message, int status) {
  whole(status, own_headers({}), "application/json", message);
}

bool PassedReply::release() {
  if (!may_answer()) return false;
  leave_connection();
  return true;
}

std::vector<http::OutHeader> PassedReply::own_headers(const core::HeaderFields& fields) const {
  if (!connected()) return {};
  std::vector<http::OutHeader> out =
      told_headers(fields, options_.resource.get(), connection_->head(), connection_->is_secure());
  connection_->add_headers(out);
  return out;
}

}  // namespace lineward::client
