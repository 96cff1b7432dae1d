#include <catch2/catch.hpp>

#include "foundation/json/json_document.h"
#include "operate/doctor/clock_check.h"
#include "operate/doctor/node_version.h"
#include "operate/doctor/program_file.h"
#include "operate/fetch/redactor.h"

using namespace lineward::doctor;
using lineward::fetch::Redactor;

TEST_CASE("ranges of Node as package.json writes them") {
  for (const char* range : {">=18", ">= 18", "18", "18.x", "^18.17 || >=20.5.0", ">=16 <21", "~18.19", "<=18",
                            "*", "", "lts/*", "16 - 20"}) {
    INFO(range);
    CHECK(version_fits("v18.19.1", range));
  }
  for (const char* range : {">=20", "^20", "18.20", "<18", ">18", "^16 || ^20.1", ">=18.20 <19", "~18.17"}) {
    INFO(range);
    CHECK_FALSE(version_fits("v18.19.1", range));
  }
  CHECK(version_fits("what is this", ">=99"));
}

TEST_CASE("what a program begins with") {
  auto fault = [](const std::string& head) { return head_fault(head, "/x", "x86_64"); };
  std::string elf(64, '\0');
  elf.replace(0, 6, std::string("\177ELF\2\1", 6));
  elf[18] = 62;
  CHECK_FALSE(fault(elf));
  elf[18] = static_cast<char>(183);
  REQUIRE(fault(elf));
  CHECK(fault(elf)->text.find("built for aarch64") != std::string::npos);
  CHECK_FALSE(fault("#!/bin/sh\necho"));
  CHECK_FALSE(fault("#! /bin/sh -e"));
  CHECK(fault("#!/bin/sh\r\n")->fix.rfind("sed -i", 0) == 0);
  CHECK(fault("#!\n")->text.find("interpreter") != std::string::npos);
  CHECK(fault("#!/nonexistent/x\n")->text.find("not there") != std::string::npos);
  CHECK(fault("MZ\x90")->text.find("Windows") != std::string::npos);
  CHECK(fault("console.log(1)")->fix.find("#!") != std::string::npos);
  CHECK(fault("\177EL")->text.find("neither") != std::string::npos);
}

TEST_CASE("where commands are") {
  CHECK(variable_of({"A=1", "PATH=/x", "PATHS=/y"}, "PATH") == "/x");
  CHECK(variable_of({"PATHS=/y"}, "PATH").empty());
  CHECK(found_in("sh", "/nonexistent:/bin") == "/bin/sh");
  CHECK(found_in("/bin/sh", "") == "/bin/sh");
  CHECK(found_in("sh", "/nonexistent").empty());
  CHECK(found_in("tmp", "/").empty());
}

TEST_CASE("how far a server's clock is off") {
  CHECK(clock_skew("Tue, 24 Nov 2026 16:00:00 GMT", 1795536000) == 0);
  CHECK(clock_skew("Tue, 24 Nov 2026 16:01:40 GMT", 1795536000) == 100);
  CHECK(clock_skew("yesterday", 1795536000) == 0);
  CHECK(clock_skew("", 1795536000) == 0);
}

TEST_CASE("what a server says is shown without what it was given in confidence") {
  lineward::config::Server server;
  server.env = {{"A", "abcd"}, {"LONG", "abcdefgh"}, {"SHORT", "xyz"}, {"KEY", "first line\nsecond line\n"}};
  server.headers = {{"Authorization", "Bearer to-ken"}};
  server.proxy = "http://user:pass-word@proxy.test:1";
  const Redactor redactor(server);
  CHECK(redactor("it is abcdefgh, not abcd") == "it is ***, not ***");
  CHECK(redactor("Bearer to-ken") == "***");
  CHECK(redactor("token: to-ken") == "token: ***");
  CHECK(redactor("pass-word of user it is") == "*** of user it is");
  CHECK(redactor("second line, xyz") == "***, xyz");
  // Secrets that were cut.
  CHECK(redactor("it ends with abcdef") == "it ends with ***");
  CHECK(redactor(std::string(100, 'a') + "\n\x1b[1m", 8) == "aaaaaaaa…");
}

TEST_CASE("documents of others are no tree when they are nested without an end") {
  const auto nested = [](size_t levels) {
    return R"({"a":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  CHECK(lineward::json::parse_document(nested(1000)).is_object());
  CHECK(lineward::json::parse_document(nested(200'000)).is_discarded());
  CHECK(lineward::json::parse_document(nested(40), 32).is_discarded());
  CHECK(lineward::json::parse_document("\xEF\xBB\xBF{}").is_object());
  CHECK(lineward::json::parse_document("{} x").is_discarded());
}
