#include "proxy/upstream/http/http_health.h"

#include <catch2/catch.hpp>

#include "proxy/upstream/http_client/request_secrets.h"

using namespace lineward;
using namespace lineward::upstream;
using mcp::EndReason;

namespace {

MessagesEnd refused_with(int status) {
  MessagesEnd end;
  end.kind = MessagesEnd::Kind::refused;
  end.status = status;
  end.fault.reason = status == 401 ? EndReason::unauthorized : EndReason::forbidden;
  end.fault.text = "refused it";
  end.challenge = {{"WWW-Authenticate", "Bearer"}};
  return end;
}

}  // namespace

TEST_CASE("a refusal of credentials is the client's business where they were its own") {
  config::Server server;
  server.name = "files";
  HttpFailures failures(server);

  SECTION("those of the gateway are no client's: it must not log in because of them") {
    const core::Failure failure = failures.of(refused_with(401));
    CHECK(failure.reason == EndReason::upstream_protocol);
    CHECK(failure.server_status == 401);
    CHECK(failure.headers.empty());
    CHECK(failures.of(refused_with(429)).reason == EndReason::upstream_unreachable);
  }
  SECTION("its own: it learns how to log in") {
    failures.set_credentials(HttpFailures::Credentials::of_clients);
    const core::Failure failure = failures.of(refused_with(401));
    CHECK(failure.reason == EndReason::unauthorized);
    CHECK(failure.text == "files refused it");
    CHECK(failure.headers == refused_with(401).challenge);
  }
  SECTION("another status is what it is") {
    MessagesEnd end = refused_with(500);
    end.fault.reason = EndReason::upstream_unreachable;
    CHECK(failures.of(end).reason == EndReason::upstream_unreachable);
    CHECK(failures.of(end).headers.empty());
  }
}

TEST_CASE("secrets of a request that a server repeats are blacked out") {
  HttpRequest request;
  request.headers = {{"X-Key", "topsecret"}, {"Accept", "application/json"}};
  request.lines = "Mcp-Method: tools/call\r\nX-Other: alsosecret\r\n";

  auto seen = [&](std::string text) {
    return redacted(std::move(text), request, "/mcp?key=inthequery", "Bearer mytoken");
  };
  CHECK(seen("bad key topsecret") == "bad key ***");
  CHECK(seen("bad key alsosecret") == "bad key ***");
  CHECK(seen("mytoken has expired, Bearer mytoken") == "*** has expired, ***");
  CHECK(seen("no such key=inthequery") == "no such ***");
  CHECK(seen("not application/json, nor tools/call") == "not application/json, nor tools/call");

  request.target = "/other?key=another-one";  // takes the place of the URL's own
  CHECK(seen("key=inthequery") == "key=inthequery");
  CHECK(seen("key=another-one") == "***");
}
