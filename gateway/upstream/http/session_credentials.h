// What shows a legacy HTTP server that a request belongs to one session: the id that the server gave, the
// headers that the session's client forwards, and the cookies of a balancer. Calls nobody.
//
// Owned by an HttpSession. A request with other credentials may carry the session's id: what the server says
// to it says nothing about the session (behaviour.md 11).
#pragma once

#include <optional>
#include <string>

#include "http/response_parser.h"
#include "http_client/cookie_jar.h"
#include "http_client/http_headers.h"

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
  // The session is opened by a request with these headers.
  void opened_with(const Headers& forwarded) { opened_as_ = identity_of(forwarded); }
  // Whether these are the credentials that the session was opened with, or that its server took last.
  bool are_of(const Headers& forwarded) const;
  // The head of a response in the session.
  void take_cookies(const http::ResponseInfo& info);
  // Several callers share the session object, and each is a stranger to its server.
  void keep_no_cookies() { keeps_cookies_ = false; }
  // Of a request in the session. `forwarded`: what goes along with it.
  Headers headers(HttpVerb verb, const Headers& forwarded, const std::string& revision) const;

 private:
  const config::Server& server_;
  const HttpUrl& url_;
  std::string id_;
  Headers forwarded_;
  std::optional<std::string> opened_as_;  // nothing: another replica has opened it
  CookieJar cookies_;
  bool keeps_cookies_ = true;
};

}  // namespace lineward::upstream
