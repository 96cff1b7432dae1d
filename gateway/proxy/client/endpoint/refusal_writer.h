// Answers refused requests, all in the same way: a JSON-RPC error with the HTTP status, a log line and a
// count. Policies that count and log refusals are notified.
//
// Owned by the HttpFront; every endpoint has a reference.
#pragma once

#include <memory>
#include <string_view>

#include "proxy/client/endpoint/path_router.h"
#include "proxy/client/http/client_connection.h"
#include "proxy/client/http/refusal.h"
#include "proxy/core/gate.h"

namespace lineward::client {

class RefusalWriter {
 public:
  // `gate`: the current one, replaced by a reload; may be null.
  RefusalWriter(const PathRouter& router, const std::shared_ptr<core::Gate>& gate)
      : router_(router), gate_(gate) {}
  RefusalWriter(const RefusalWriter&) = delete;
  RefusalWriter& operator=(const RefusalWriter&) = delete;

  // Answers the connection's request. `raw_id`: of the JSON-RPC request; empty: there is none.
  void refuse(ClientConnection& connection, const HttpError& refusal, std::string_view raw_id = {}) const;
  // Counts, logs and records that the request, or a part of it, was refused; the answer is sent by other
  // code.
  void note(const ClientConnection& connection, int status, mcp::EndReason reason,
            std::string_view why) const;
  // The same for that, with its log line: the answer is about to be written.
  void note_unanswered(const ClientConnection& connection, const UnansweredRequest& request) const;
  // The request cannot be parsed: there is no head, or not a reliable one.
  void note_fault(const ClientConnection& connection, const Error& fault) const;

 private:
  struct Told {
    int status;
    mcp::EndReason reason;
    std::string_view why;
    std::string_view by;      // the plugin that refused, or empty
    std::string_view method;  // of JSON-RPC, where it is known
  };
  void write_line(const ClientConnection& connection, int status, int code, mcp::EndReason reason,
                  std::string_view why) const;
  void tell(const ClientConnection& connection, const Told& told) const;

  const PathRouter& router_;
  const std::shared_ptr<core::Gate>& gate_;
};

}  // namespace lineward::client
