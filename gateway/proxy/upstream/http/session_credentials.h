// The credentials of a session with a legacy HTTP server: its session id, the headers that the session's
// client forwards, and the cookies of a load balancer. No callbacks.
//
// Owned by an HttpSession. A request with other credentials may carry the session's id: the server's reply to
// it says nothing about the session (behaviour.md 11).
#pragma once

#include <optional>
#include <string>

#include "protocol/http/response_parser.h"
#include "proxy/upstream/http_client/cookie_jar.h"
#include "proxy/upstream/http_client/http_headers.h"

namespace lineward::upstream {

class SessionCredentials {
 public:
  SessionCredentials(const config::Server& server, const HttpUrl& url) : server_(server), url_(url) {}
  SessionCredentials(const SessionCredentials&) = delete;
  SessionCredentials& operator=(const SessionCredentials&) = delete;

  const std::string& id() const { return id_; }
  void set_id(std::string id) { id_ = std::move(id); }
  // The lasting headers of the newest request that the server did not refuse.
  const Headers& forwarded() const { return forwarded_; }
  void remember(Headers forwarded) { forwarded_ = std::move(forwarded); }
  // A request with these headers opens the session.
  void opened_with(const Headers& forwarded) { opened_as_ = identity_of(forwarded); }
  // Whether these are the credentials that opened the session, or those that its server accepted last.
  bool are_of(const Headers& forwarded) const;
  // Takes the cookies of a response in the session.
  void take_cookies(const http::ResponseInfo& info);
  // Several callers share the session object, each with its own state at the server.
  void keep_no_cookies() { keeps_cookies_ = false; }
  // Headers of a request in the session. `forwarded`: the client's headers.
  Headers headers(HttpVerb verb, const Headers& forwarded, const std::string& revision) const;

 private:
  const config::Server& server_;
  const HttpUrl& url_;
  std::string id_;
  Headers forwarded_;
  std::optional<std::string> opened_as_;  // nullopt: opened by another replica
  CookieJar cookies_;
  bool keeps_cookies_ = true;
};

}  // namespace lineward::upstream
