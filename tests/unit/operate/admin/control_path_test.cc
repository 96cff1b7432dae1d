#include "operate/admin/control_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

using namespace lineward;

namespace {

constexpr uid_t kNobody = 65534;

// XDG_RUNTIME_DIR is a directory of the test's own.
struct Folder {
  Folder() {
    char pattern[] = "/tmp/lineward-control-XXXXXX";
    path = mkdtemp(pattern);
    chmod(path.c_str(), 0700);
    const char* set = std::getenv("XDG_RUNTIME_DIR");
    if (set != nullptr) before = set;
    setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
  }
  ~Folder() {
    before.empty() ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", before.c_str(), 1);
    rmdir((path + "/lineward").c_str());
    rmdir(path.c_str());
  }
  bool used() const {
    auto socket = admin::own_socket_path();
    return socket && socket->rfind(path + "/", 0) == 0;
  }
  std::string path, before;
};

}  // namespace

TEST_CASE("the control socket is in a directory of our own, below one that no other user can change") {
  Folder folder;
  CHECK(folder.used());
  const std::string ours = folder.path + "/lineward";
  chmod(ours.c_str(), 0770);
  CHECK_FALSE(folder.used());
  chmod(ours.c_str(), 0700);
  CHECK(folder.used());
  chmod(folder.path.c_str(), 0777);
  CHECK_FALSE(folder.used());
  chmod(folder.path.c_str(), 01777);
  CHECK(folder.used());
  chmod(folder.path.c_str(), 0700);
  rmdir(ours.c_str());
  REQUIRE(symlink("/tmp", ours.c_str()) == 0);
  CHECK_FALSE(folder.used());
  unlink(ours.c_str());
}

TEST_CASE("root uses no directory of another user either") {
  if (geteuid() != 0) return;
  Folder folder;
  const std::string theirs = folder.path + "/lineward";
  REQUIRE(mkdir(theirs.c_str(), 0700) == 0);
  REQUIRE(chown(theirs.c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(folder.used());
  REQUIRE(chown(theirs.c_str(), 0, 0) == 0);
  CHECK(folder.used());
  CHECK(admin::socket_directories().front() == theirs);
  // After `sudo -E` the variable names the directory of the calling user.
  REQUIRE(chown(folder.path.c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(folder.used());
  CHECK(admin::socket_directories().front() == "/run/lineward");
}
