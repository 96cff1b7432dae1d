#include "proxy/client/http/client_connection.h"

#include <catch2/catch.hpp>

using lineward::client::account_of;

TEST_CASE("a principal is the same from every address, and never an address") {
  auto caller = std::make_shared<lineward::core::Caller>();
  caller->principal = "127.0.0.1";
  auto mine = account_of(caller, "127.0.0.1:1");
  CHECK(account_of(caller, "192.0.2.7:9") == mine);
  CHECK(account_of(nullptr, "127.0.0.1:1") != mine);
  auto nobody = std::make_shared<lineward::core::Caller>();
  nobody->principal = "anonymous";
  CHECK(account_of(nobody, "127.0.0.1:2")->name() == "address 127.0.0.1");
}
