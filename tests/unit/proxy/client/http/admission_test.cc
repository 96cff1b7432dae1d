// Which addresses a request may come with: Host and Origin against DNS rebinding and cross-site requests.
#include "proxy/client/http/admission.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace lineward;
using namespace lineward::client;

namespace {

http::HeaderList head(const std::vector<std::pair<std::string, std::string>>& fields) {
  http::HeaderList out;
  for (const auto& [name, value] : fields)
    out.add(name, value);
  return out;
}

// The status that a request with this Host and these origins is refused with; 0: it is let in.
int answer(const config::Listen& listen, const std::vector<std::string>& origins,
           const std::string& host = "127.0.0.1:8000", bool loopback = true) {
  std::vector<std::pair<std::string, std::string>> fields{{"Host", host}};
  for (const std::string& origin : origins)
    fields.emplace_back("Origin", origin);
  auto refusal = check_addresses(head(fields), listen, loopback);
  return refusal ? refusal->status : 0;
}

const std::string kOwn = "http://localhost:3000";
const std::string kListed = "https://app.example";
const std::string kForeign = "https://evil.example";

}  // namespace

TEST_CASE("one origin is let in where it is listed, and on loopback where it is this machine's") {
  config::Listen listen;
  CHECK(answer(listen, {}) == 0);
  CHECK(answer(listen, {kOwn}) == 0);
  CHECK(answer(listen, {"HTTPS://127.0.0.1"}) == 0);
  CHECK(answer(listen, {"http://[::1]:1"}) == 0);
  CHECK(answer(listen, {kListed}) == 403);
  listen.allowed_origins = {kListed};
  CHECK(answer(listen, {kListed}) == 0);
  CHECK(answer(listen, {"HTTPS://APP.example"}) == 0);
  CHECK(answer(listen, {kForeign}) == 403);
  CHECK(answer(listen, {kListed + ".evil.example"}) == 403);
  CHECK(answer(listen, {"http://127.0.0.1.evil.example"}) == 403);
  CHECK(answer(listen, {"http://localhost.evil.example"}) == 403);
  CHECK(answer(listen, {"null"}) == 403);
  CHECK(answer(listen, {""}) == 403);
}

TEST_CASE("two origins are refused, in either order, also where each would be let in") {
  config::Listen listen;
  listen.allowed_origins = {kListed};
  const std::vector<std::string> all{kOwn, kListed, kForeign};
  for (const std::string& one : all) {
    for (const std::string& other : all) {
      INFO(one << ", " << other);
      CHECK(answer(listen, {one, other}) == 403);
      CHECK(answer(listen, {one, other}, "example.com", false) == 403);
    }
  }
}

TEST_CASE("away from loopback only listed origins are let in") {
  config::Listen listen;
  CHECK(answer(listen, {kOwn}, "example.com", false) == 403);
  listen.allowed_origins = {kListed};
  CHECK(answer(listen, {kListed}, "example.com", false) == 0);
  CHECK(answer(listen, {kOwn}, "example.com", false) == 403);
}

TEST_CASE("on loopback a Host is this machine's or listed; elsewhere it is asked for where some are listed") {
  config::Listen listen;
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:80"})
    CHECK(answer(listen, {}, host) == 0);
  for (const char* host :
       {"example.com", "127.0.0.1.example.com", "127.0.0", "127.0.0.0.1", "localhost.a", ""})
    CHECK(answer(listen, {}, host) == 403);
  CHECK(answer(listen, {}, "example.com", false) == 0);
  listen.allowed_hosts = {"example.com", "other.example:81"};
  CHECK(answer(listen, {}, "Example.com:8000") == 0);
  CHECK(answer(listen, {}, "other.example:81", false) == 0);
  CHECK(answer(listen, {}, "other.example:82", false) == 403);
  CHECK(answer(listen, {}, "localhost", false) == 403);
}
