#include "operate/admin/tree_memory.h"

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace lineward::admin;
using std::chrono::milliseconds;

TEST_CASE("the memory of a process tree is read once in two seconds") {
  uint64_t now = 10;
  size_t reads = 0;
  TreeMemory memory([&](pid_t pid) {
    ++reads;
    return pid == 7 ? std::optional(now) : std::nullopt;
  });
  CHECK(memory.of(7, milliseconds(0)) == 10U);
  now = 20;
  CHECK(memory.of(7, milliseconds(1999)) == 10U);
  CHECK_FALSE(memory.of(8, milliseconds(1999)));
  CHECK_FALSE(memory.of(8, milliseconds(1999)));
  CHECK(reads == 2);
  CHECK(memory.of(7, milliseconds(2000)) == 20U);
  CHECK(reads == 3);
}

TEST_CASE("the reads of one such time are bounded") {
  size_t reads = 0;
  TreeMemory memory([&](pid_t) {
    ++reads;
    return std::optional<uint64_t>(1);
  });
  for (pid_t pid = 1; pid <= 2000; ++pid)
    CHECK(memory.of(pid, milliseconds(5)).has_value() == (pid <= static_cast<pid_t>(TreeMemory::kMostReads)));
  CHECK(reads == TreeMemory::kMostReads);
}

TEST_CASE("the memory of this process is known, that of none is not") {
  CHECK(resident_of_tree(getpid()).value_or(0) > 1024);
  CHECK_FALSE(resident_of_tree(0x3ffffff));
}
