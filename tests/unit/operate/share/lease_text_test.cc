#include "operate/share/lease_text.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward::share;
using namespace std::chrono_literals;

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

std::string without_end(std::string line) {
  REQUIRE(line.back() == '\n');
  line.pop_back();
  return line;
}

}  // namespace

TEST_CASE("a request for a lease is read as it was written") {
  auto read = read_lease_request(without_end(lease_request({kToken, 600s, 4711})));
  REQUIRE(read);
  CHECK(read->token == kToken);
  CHECK(read->linger == 600s);
  CHECK(read->pid == 4711);
}

TEST_CASE("other lines are no request for a lease") {
  for (const std::string& line :
       {std::string(), std::string("GET / HTTP/1.1"), "lineward-lease/2 " + kToken + " 0 1",
        "lineward-lease/1 " + kToken, "lineward-lease/1 " + kToken + " 0 1 more",
        "lineward-lease/1 " + kToken + " -1 1", "lineward-lease/1 " + kToken + " 99999999999999999999 1",
        "lineward-lease/1 " + kToken + " 604800001 1", std::string("lineward-lease/1 short 0 1"),
        "lineward-lease/1 " + kToken + "x 0 1"}) {
    CAPTURE(line);
    CHECK_FALSE(read_lease_request(line));
  }
}

TEST_CASE("an answer is a grant, or a refusal with its reason") {
  auto granted = read_lease_answer(without_end(lease_answer({true, {}})));
  REQUIRE(granted);
  CHECK(granted->granted);
  auto refused = read_lease_answer(without_end(lease_answer({false, "no room"})));
  REQUIRE(refused);
  CHECK_FALSE(refused->granted);
  CHECK(refused->why == "no room");
  CHECK_FALSE(read_lease_answer("HTTP/1.1 200 OK"));
}
