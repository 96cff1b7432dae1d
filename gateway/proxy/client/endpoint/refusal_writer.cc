#include "proxy/client/endpoint/refusal_writer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/audit/audit.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {

void RefusalWriter::refuse(ClientConnection& connection, const HttpError& refusal,
                           std::string_view raw_id) const {
  metrics::stats().count_refused(refusal.reason);
  std::vector<http::OutHeader> headers;
  const bool given = std::any_of(refusal.headers.begin(), refusal.headers.end(),
                                 [](const auto& header) { return header.first == "Retry-After"; });
  if (refusal.status == 503 && !given) headers.push_back({"Retry-After", "1"});
  if (!refusal.allow.empty()) headers.push_back({"Allow", refusal.allow});
  for (const auto& [name, value] : refusal.headers)
    headers.push_back({name, value});
  write_line(connection, refusal.status, refusal.code, refusal.reason, refusal.text);
  std::string body =
      refusal.body.empty() ? mcp::error_message(raw_id, refusal.code, refusal.text) : refusal.body;
  if (!refusal.told)
    tell(connection, {refusal.status, refusal.reason, refusal.text, refusal.by, refusal.method});
  connection.respond(refusal.status, "application/json", body, std::move(headers));
}

void RefusalWriter::note(const ClientConnection& connection, int status, mcp::EndReason reason,
                         std::string_view why) const {
  metrics::stats().count_refused(reason);
  tell(connection, {status, reason, why, {}, {}});
}

void RefusalWriter::note_unanswered(const ClientConnection& connection,
                                    const UnansweredRequest& request) const {
  metrics::stats().count_refused(request.reason);
  write_line(connection, request.status, request.code, request.reason, request.why);
  tell(connection, {request.status, request.reason, request.why, {}, request.method});
}

void RefusalWriter::write_line(const ClientConnection& connection, int status, int code,
                               mcp::EndReason reason, std::string_view why) const {
  log::write(log::Level::info, "request.refused",
             {{"reason", mcp::name(reason)},
              {"status", status},
              {"code", code},
              {"why", std::string(why)},
              {"remote", connection.client()}});
}

void RefusalWriter::tell(const ClientConnection& connection, const Told& told) const {
  const http::RequestHead& head = connection.head();
  const core::Caller* caller = connection.caller().get();
  // Excludes the query, which may hold secrets.
  const std::string_view path = head.path;
  audit::record(audit::Kind::refusal, {{"who", caller ? std::string_view(caller->name) : std::string_view()},
                                       {"from", connection.client()},
                                       {"server", router_.server_of(head)},
                                       {"http", head.method},
                                       {"path", path.substr(0, path.find('?'))},
                                       {"status", told.status},
                                       {"method", told.method},
                                       {"end", mcp::name(told.reason)},
                                       {"policy", told.by},
                                       {"why", told.why}});
  if (!gate_) return;
  gate_->on_refused({
      .peer = connection.client(),
      .method = head.method,
      .path = head.path,
      .server = router_.server_of(head),
      .status = told.status,
      .reason = told.reason,
      .why = told.why,
      .caller = caller,
      .listener = connection.listener(),
  });
}

void RefusalWriter::note_fault(const ClientConnection& connection, const Error& fault) const {
  metrics::stats().count_refused(mcp::EndReason::invalid_request);
  audit::record(audit::Kind::refusal, {{"from", connection.peer()},
                                       {"status", fault.code},
                                       {"end", mcp::name(mcp::EndReason::invalid_request)},
                                       {"why", fault.text}});
  if (!gate_) return;
  gate_->on_refused({
      .peer = connection.peer(),
      .status = fault.code,
      .reason = mcp::EndReason::invalid_request,
      .why = fault.text,
      .listener = connection.listener(),
  });
}

}  // namespace lineward::client
