#include "operate/admin/api_access.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

using namespace lineward;
using namespace lineward::admin;

namespace {

struct Asks {
  http::RequestHead head;
  std::optional<uint32_t> uid;
  Access access(const config::Admin& admin, Way way, bool loopback = true) const {
    PlainRequest request{head, "/api/v1/status", {}, {}, "10.0.0.9:5000", uid};
    return access_of(request, admin, way, loopback);
  }
};

Asks asks(std::initializer_list<std::pair<const char*, std::string>> headers) {
  Asks out;
  for (const auto& [name, value] : headers)
    out.head.headers.add(name, value);
  return out;
}

// A file of tokens that is gone with it.
struct TokenFile {
  explicit TokenFile(const std::string& text) {
    int fd = mkstemp(path.data());
    REQUIRE(fd >= 0);
    close(fd);
    write(text);
  }
  ~TokenFile() { unlink(path.c_str()); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string path = "/tmp/lineward-tokens-XXXXXX";
};

}  // namespace

TEST_CASE("the control socket answers its own user and root, and no page") {
  config::Admin admin;
  Asks one = asks({{"Host", "localhost"}});
  CHECK(one.access(admin, Way::socket).refusal.status == 403);
  one.uid = geteuid();
  CHECK(one.access(admin, Way::socket).role == Role::operate);
  one.uid = 0;
  CHECK(one.access(admin, Way::socket).role == Role::operate);
  one.uid = geteuid() + 12345;
  CHECK(!one.access(admin, Way::socket).role);
  Asks page = asks({{"Host", "localhost"}, {"Origin", "http://localhost"}});
  page.uid = geteuid();
  CHECK(page.access(admin, Way::socket).refusal.status == 403);
}

TEST_CASE("a name that any site can point here is no Host") {
  config::Admin admin;
  for (const char* host :
       {"127.0.0.1:8001", "localhost:8001", "LOCALHOST", "[::1]:8001", "10.1.2.3:80", "127.0.0.1"}) {
    INFO(host);
    CHECK(asks({{"Host", host}}).access(admin, Way::tcp).role == Role::operate);
  }
  for (const char* host :
       {"", "evil.example", "evil.example:8001", "localhost.evil.example:8001", "127.0.0.1.evil.example",
        "127.0.0.1@evil.example", "[::1].evil.example", ":8001"}) {
    INFO(host);
    CHECK(asks({{"Host", host}}).access(admin, Way::tcp).refusal.status == 403);
  }
  CHECK(asks({}).access(admin, Way::tcp).refusal.status == 403);
  admin.allowed_hosts = {"Gateway.example"};
  CHECK(asks({{"Host", "gateway.example:8001"}}).access(admin, Way::tcp).role);
  CHECK(!asks({{"Host", "other.example:8001"}}).access(admin, Way::tcp).role);
}

TEST_CASE("an Origin is this very address, or none") {
  config::Admin admin;
  const std::string host = "127.0.0.1:8001";
  CHECK(asks({{"Host", host}, {"Origin", "http://127.0.0.1:8001"}}).access(admin, Way::tcp).role);
  for (const char* origin : {"null", "http://127.0.0.1:8002", "http://localhost:8001",
                             "https://127.0.0.1:8001", "http://evil.example", ""}) {
    INFO(origin);
    CHECK(asks({{"Host", host}, {"Origin", origin}}).access(admin, Way::tcp).refusal.status == 403);
  }
  CHECK(!asks({{"Host", host}, {"Origin", "http://127.0.0.1:8001"}, {"Origin", "http://127.0.0.1:8001"}})
             .access(admin, Way::tcp)
             .role);
}

TEST_CASE("without tokens only this machine is answered") {
  config::Admin admin;
  CHECK(asks({{"Host", "10.0.0.1:8001"}}).access(admin, Way::tcp, false).refusal.status == 403);
}

TEST_CASE("a token says what its bearer may do, and the file is read anew") {
  const std::string reader(24, 'r'), operator_(24, 'o');
  TokenFile file("# who\nread " + reader + "\n  operate\t" + operator_ + "\r\n\n");
  config::Admin admin;
  admin.token_file = file.path;
  auto with = [&](const std::string& value) {
    return asks({{"Host", "127.0.0.1:8001"}, {"Authorization", value}}).access(admin, Way::tcp, false);
  };
  CHECK(with("Bearer " + reader).role == Role::read);
  CHECK(with("bearer " + operator_).role == Role::operate);
  for (const std::string& wrong :
       std::vector<std::string>{"", "Bearer ", "Bearer x", "Basic " + operator_, operator_,
                                "Bearer " + operator_ + "o", "Bearer " + operator_.substr(1)}) {
    INFO(wrong);
    CHECK(with(wrong).refusal.status == 401);
  }
  CHECK(with("").refusal.headers.at(0).name == "WWW-Authenticate");
  CHECK(asks({{"Host", "127.0.0.1:8001"}}).access(admin, Way::tcp, true).refusal.status == 401);
  admin.read_only = true;
  CHECK(with("Bearer " + operator_).role == Role::read);
  admin.read_only = false;
  file.write("operate " + reader + "\n");
  CHECK(with("Bearer " + reader).role == Role::operate);
  CHECK(with("Bearer " + operator_).refusal.status == 401);
  file.write("broken\n");
  CHECK(with("Bearer " + reader).refusal.status == 503);
}

TEST_CASE("https is an origin of names that admin.allowedHosts has, and of nothing else") {
  config::Admin admin;
  admin.allowed_hosts = {"gw.example", "port.example:8443"};
  const auto role = [&](const char* host, const char* origin) {
    return asks({{"Host", host}, {"Origin", origin}}).access(admin, Way::tcp).role.has_value();
  };
  CHECK(role("gw.example", "https://gw.example"));
  CHECK(role("gw.example", "http://gw.example"));
  CHECK(role("GW.example", "https://gw.EXAMPLE"));
  CHECK(role("gw.example:8443", "https://gw.example:8443"));
  CHECK(role("port.example:8443", "https://port.example:8443"));
  for (auto [host, origin] :
       {std::pair("127.0.0.1:8001", "https://127.0.0.1:8001"), std::pair("localhost", "https://localhost"),
        std::pair("gw.example", "https://gw.example.evil.example"),
        std::pair("gw.example", "https://gw.example:8443"),
        std::pair("gw.example:8443", "https://gw.example"), std::pair("gw.example", "https://gw.example/"),
        std::pair("gw.example", "wss://gw.example"), std::pair("gw.example", "null"),
        std::pair("gw.example", ""), std::pair("port.example", "https://port.example")}) {
    INFO(host << " " << origin);
    CHECK_FALSE(role(host, origin));
  }
}
