// Answers requests that are refused, in one way for all of them: a JSON-RPC error with the HTTP status, a
// line of log, a count, and a word to those policies that count and log what was refused.
//
// Owned by the HttpFront; every endpoint has a reference.
#pragma once

#include <memory>
#include <string_view>

#include "client/endpoint/path_router.h"
#include "client/http/client_connection.h"
#include "client/http/refusal.h"
#include "core/gate.h"

namespace lineward::client {

class RefusalWriter {
 public:
  // `gate`: the one of today, which a reload replaces; it may be null.
  RefusalWriter(const PathRouter& router, const std::shared_ptr<core::Gate>& gate)
      : router_(router), gate_(gate) {}
  RefusalWriter(const RefusalWriter&) = delete;
  RefusalWriter& operator=(const RefusalWriter&) = delete;

  // Answers the connection's request with that. `raw_id`: of the JSON-RPC request; empty: there is none.
  void refuse(ClientConnection& connection, const HttpRefusal& refusal, std::string_view raw_id = {}) const;
  // For those who count, log and keep records: the request, or a part of it, was refused and is answered in
  // another way.
  void note(const ClientConnection& connection, int status, mcp::EndReason reason,
            std::string_view why) const;
  // Likewise for that, with its line of log: the answer is about to be written.
  void note_unanswered(const ClientConnection& connection, const UnansweredRequest& request) const;
  // What came is no request that can be read: of that there is no head, or not one to go by.
  void note_fault(const ClientConnection& connection, const http::RequestFault& fault) const;

 private:
  struct Told {
    int status;
    mcp::EndReason reason;
    std::string_view why;
    std::string_view by;      // the plugin that did, or empty
    std::string_view method;  // of JSON-RPC, where it is known
  };
  void write_line(const ClientConnection& connection, int status, int code, mcp::EndReason reason,
                  std::string_view why) const;
  void tell(const ClientConnection& connection, const Told& told) const;

  const PathRouter& router_;
  const std::shared_ptr<core::Gate>& gate_;
};

}  // namespace lineward::client
