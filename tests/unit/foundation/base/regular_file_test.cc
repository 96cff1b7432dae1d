#include "foundation/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

using namespace lineward;

TEST_CASE("a file is read, and what would have to be waited for is not") {
  char pattern[] = "/tmp/lineward-file-XXXXXX";
  REQUIRE(mkdtemp(pattern) != nullptr);
  const std::string folder = pattern, file = folder + "/file", pipe = folder + "/pipe";
  std::ofstream(file) << "text\n";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto whole = read_regular_file(file, 100), nothing = read_regular_file("/dev/null", 100);
  REQUIRE(whole);
  CHECK(*whole == "text\n");
  REQUIRE(nothing);
  CHECK(nothing->empty());
  const auto large = read_regular_file(file, 4);
  REQUIRE_FALSE(large);
  CHECK(large.error().text == "larger than 4 bytes");
  for (bool has_writer : {false, true}) {
    const int end = has_writer ? ::open(pipe.c_str(), O_RDWR | O_NONBLOCK) : -1;
    const auto waits = read_regular_file(pipe, 100);
    REQUIRE_FALSE(waits);
    CHECK(waits.error().text == "not a regular file");
    CHECK_FALSE(check_regular_file(pipe, 100));
    if (end >= 0) ::close(end);
  }
  CHECK(read_regular_file(folder, 100).error().text == "Is a directory");
  CHECK(read_regular_file(folder + "/none", 100).error().text == "No such file or directory");
  CHECK(check_regular_file(file, 100));
  CHECK_FALSE(check_regular_file(file, 4));
  ::unlink(file.c_str());
  ::unlink(pipe.c_str());
  ::rmdir(folder.c_str());
}
