#include "proxy/upstream/http_client/web_fetch.h"

#include <catch2/catch.hpp>

using namespace lineward::upstream;

TEST_CASE("what is fetched comes over TLS, or from this machine, however the name of another one begins") {
  for (const char* fine : {"https://auth.example/t", "http://127.0.0.1:8080/t", "http://localhost/t",
                           "http://[::1]:8080/t", "unix:/run/auth.sock"}) {
    INFO(fine);
    CHECK(secure_url_fault(fine).empty());
  }
  for (const char* other :
       {"http://auth.example/t", "http://127.evil.example.com/t", "http://127.0.0.1.example/t"}) {
    INFO(other);
    CHECK(secure_url_fault(other) == "is not https");
  }
}
