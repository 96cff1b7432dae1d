#include "operate/cli/own_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace lineward::cli;

namespace {

using FileStatus = struct stat;

FileStatus like(uid_t user, gid_t group, mode_t mode) {
  FileStatus out{};
  out.st_uid = user;
  out.st_gid = group;
  out.st_mode = S_IFREG | mode;
  return out;
}

bool is(const FileAccess& one, uid_t owner, gid_t group, bool group_reads) {
  return one.owner == owner && one.group == group && one.group_reads == group_reads;
}

class OwnFolder {
 public:
  OwnFolder() {
    std::array<char, 32> name{"/tmp/lineward-own-XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name.data();
  }
  ~OwnFolder() { std::filesystem::remove_all(path); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
  std::string path;
};

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

FileStatus status_in(const std::string& path) {
  FileStatus out{};
  REQUIRE(::stat(path.c_str(), &out) == 0);
  return out;
}

}  // namespace

TEST_CASE("the own file is readable for the gateway, and never for everyone") {
  const ProcessIds gateway{700, 701};
  const FileStatus own = like(5, 6, 0640);
  CHECK(is(access_of_own_file(&own, like(0, 0, 0644), &gateway, true), 5, 6, true));
  CHECK(is(access_of_own_file(nullptr, like(0, 701, 0640), &gateway, true), 0, 701, true));
  CHECK(is(access_of_own_file(nullptr, like(0, 701, 0640), nullptr, true), 0, 701, true));
  CHECK(is(access_of_own_file(nullptr, like(700, 701, 0600), &gateway, true), 700, 701, false));
  CHECK(is(access_of_own_file(nullptr, like(0, 0, 0644), &gateway, true), 0, 701, true));
  CHECK(is(access_of_own_file(nullptr, like(0, 0, 0644), nullptr, true), 0, 0, true));
  CHECK(is(access_of_own_file(nullptr, like(700, 100, 0644), &gateway, true), 700, 100, false));
  CHECK(is(access_of_own_file(nullptr, like(700, 100, 0644), &gateway, false), 700, 100, false));
}

TEST_CASE("the own file keeps its mode, comes back exactly, and leaves nothing behind") {
  const OwnFolder folder;
  const std::string path = folder.path + "/own.yaml", config = folder.path + "/config.yaml";
  std::ofstream(config) << "c";
  chmod(config.c_str(), 0640);
  std::ofstream(folder.path + "/.own.yaml.7") << "of a command that was killed";
  const DirectoryLock lock(folder.path);
  REQUIRE(lock.take().empty());
  {
    OwnFile first(path, config, 0);
    CHECK(first.write("one", lock).empty());
    CHECK((status_in(path).st_mode & 07777) == 0640);
    CHECK(folder.files() == 2);
  }
  chmod(path.c_str(), 0600);
  const FileStatus before = status_in(path);
  {
    OwnFile second(path, config, 0);
    CHECK(second.write("two", lock).empty());
    CHECK(text_in(path) == "two");
    CHECK((status_in(path).st_mode & 07777) == 0600);
    CHECK(second.take_back("one", lock).empty());
  }
  CHECK(text_in(path) == "one");
  CHECK(status_in(path).st_ino == before.st_ino);
  CHECK(folder.files() == 2);
  { CHECK(OwnFile(path, config, 0).write("three", lock).empty()); }
  CHECK(text_in(path) == "three");
  CHECK(folder.files() == 2);
}

TEST_CASE("a new own file goes away again, and a symbolic link is not replaced") {
  const OwnFolder folder;
  const std::string path = folder.path + "/own.yaml", config = folder.path + "/config.yaml";
  std::ofstream(config) << "c";
  const DirectoryLock lock(folder.path);
  REQUIRE(lock.take().empty());
  OwnFile file(path, config, 0);
  CHECK(file.unfit().empty());
  CHECK(file.write("one", lock).empty());
  CHECK(file.take_back("", lock).empty());
  CHECK(access(path.c_str(), F_OK) != 0);
  REQUIRE(symlink("config.yaml", path.c_str()) == 0);
  CHECK(file.unfit().find("is a symbolic link") != std::string::npos);
}
