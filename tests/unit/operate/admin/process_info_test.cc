#include "operate/admin/process_info.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

using namespace lineward::admin;

// Each figure against another source of the same: a column beside it would be something else.
TEST_CASE("what a process uses is read from the right columns") {
  std::vector<char> touched(64 << 20, 'x');  // enough that a wrong column cannot be it
  std::string key;
  double status_kib = 0;
  std::ifstream status("/proc/self/status");
  while (status >> key) {
    if (key == "VmRSS:") status >> status_kib;
  }
  ProcessInfo info;
  REQUIRE(read_process(getpid(), info));
  CHECK(touched.back() == 'x');
  CHECK(info.resident_bytes > 0.8 * status_kib * 1024);
  CHECK(info.resident_bytes < 1.2 * status_kib * 1024);
  CHECK(info.virtual_bytes >= info.resident_bytes);
  CHECK(info.open_fds >= 3);
  double before = info.cpu_seconds;
  while (info.cpu_seconds < before + 0.05) {  // some work shows
    std::memset(touched.data(), static_cast<int>(info.cpu_seconds), touched.size());
    REQUIRE(read_process(getpid(), info));
  }
  CHECK(info.cpu_seconds < before + 5);
}

TEST_CASE("a process that is not there has no figures") {
  ProcessInfo info;
  CHECK_FALSE(read_process(0x7ffffff0, info));
}
