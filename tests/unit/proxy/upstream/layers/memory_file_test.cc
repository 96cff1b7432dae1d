#include "proxy/upstream/layers/memory_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace lineward;
using namespace lineward::upstream;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/lineward-memory-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path + "/" + name) << text;
    REQUIRE(::chmod((path + "/" + name).c_str(), mode) == 0);
  }
  std::string path;
};

std::string why(const MemoryPlace& place, size_t most = 1000) {
  auto read = read_memory(place, most);
  return read ? "read " + *read : read.error().text;
}

}  // namespace

TEST_CASE("a memory file is written in one step and reads back", "[layers]") {
  const Folder folder;
  const MemoryPlace place{folder.path + "/a/b", "name", "print"};
  CHECK(why(place).empty());
  CHECK_FALSE(has_memory(place));
  REQUIRE(write_memory(place, "one"));
  REQUIRE(write_memory(place, "two"));
  CHECK(why(place) == "read two");
  CHECK(has_memory(place));
  struct stat found {};
  REQUIRE(::stat(place.directory.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777u) == 0700u);
  REQUIRE(::stat((place.directory + "/name.memory").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777u) == 0600u);
  const auto files = std::distance(std::filesystem::directory_iterator(place.directory), {});
  CHECK(files == 1);
}

TEST_CASE("files and directories that others may change are not read", "[layers]") {
  const Folder folder;
  const MemoryPlace place{folder.path, "name", "print"};
  folder.write("name.memory", "x", 0644);
  CHECK(why(place) == "name.memory is open to others (mode 0644)");
  folder.write("name.memory", "x");
  CHECK(why(place) == "read x");
  CHECK(why(place, 0) == "name.memory has more than 0 bytes (remember.maxBytes)");
  REQUIRE(::chmod(folder.path.c_str(), 0755) == 0);
  CHECK(why(place) == folder.path + " is open to others (mode 0755)");
  CHECK_FALSE(write_memory(place, "x"));
  REQUIRE(::chmod(folder.path.c_str(), 0700) == 0);

  std::filesystem::rename(folder.path + "/name.memory", folder.path + "/elsewhere");
  std::filesystem::create_symlink(folder.path + "/elsewhere", folder.path + "/name.memory");
  CHECK_FALSE(why(place).empty());
  CHECK(why(place) != "read x");
  // It is replaced, and not followed.
  REQUIRE(write_memory(place, "y"));
  CHECK(why(place) == "read y");
  std::ifstream elsewhere(folder.path + "/elsewhere");
  CHECK(elsewhere.get() == 'x');

  std::filesystem::create_directory_symlink(folder.path, folder.path + "/link");
  CHECK_FALSE(why({folder.path + "/link", "name", "print"}).empty());
  CHECK_FALSE(write_memory({folder.path + "/link", "name", "print"}, "x"));

  REQUIRE(::mkfifo((folder.path + "/pipe.memory").c_str(), 0600) == 0);
  CHECK(why({folder.path, "pipe", "print"}) == "pipe.memory is not a regular file");
  std::filesystem::create_directory(folder.path + "/dir.memory");
  CHECK(why({folder.path, "dir", "print"}) == "dir.memory is not a regular file");
  CHECK_FALSE(write_memory({folder.path, "dir", "print"}, "x"));
}

TEST_CASE("files of another user are not read", "[layers]") {
  if (::geteuid() != 0) return;  // only root can make one
  const Folder folder;
  folder.write("name.memory", "x");
  REQUIRE(::chown((folder.path + "/name.memory").c_str(), 12345, 12345) == 0);
  CHECK(why({folder.path, "name", "print"}) == "name.memory belongs to user 12345");
  REQUIRE(::chown(folder.path.c_str(), 12345, 12345) == 0);
  CHECK(why({folder.path, "name", "print"}) == folder.path + " belongs to user 12345");
  REQUIRE(::chown(folder.path.c_str(), 0, 0) == 0);
}

TEST_CASE("the oldest files make room", "[layers]") {
  const Folder folder;
  for (int i = 0; i < 600; ++i) {
    const std::string name = "f" + std::to_string(i) + ".memory";
    folder.write(name, "x");
    const timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (folder.path + "/" + name).c_str(), times, 0) == 0);
  }
  folder.write("other", "x");
  REQUIRE(write_memory({folder.path, "new", "print"}, "x"));
  CHECK_FALSE(std::filesystem::exists(folder.path + "/f0.memory"));
  CHECK_FALSE(std::filesystem::exists(folder.path + "/f88.memory"));
  CHECK(std::filesystem::exists(folder.path + "/f89.memory"));
  CHECK(std::filesystem::exists(folder.path + "/other"));
}

TEST_CASE("the fingerprint covers all that a server is started from", "[layers]") {
  const Folder folder;
  folder.write("program", "#!/bin/sh\n", 0700);
  folder.write("script", "1");
  const std::string path = "PATH=/nowhere:" + folder.path;
  std::vector<const char*> environment{path.c_str(), "TERM=xterm", "USER=u", "SECRET=s", nullptr};
  config::Server server;
  server.name = "s";
  server.command = "program";
  server.args = {"script", "--x"};
  server.cwd = folder.path;
  server.env = {{"TOKEN", "secret-value"}};
  const auto print = [&] { return memory_place(server, environment.data()).fingerprint; };
  const std::string first = print();
  CHECK(first.size() == 64);
  CHECK(print() == first);
  CHECK(first.find("secret") == std::string::npos);

  environment[1] = "TERM=vt100";
  environment[3] = "SECRET=other";  // it is not inherited
  CHECK(print() == first);
  environment[2] = "USER=v";
  CHECK(print() != first);
  environment[2] = "USER=u";
  server.env.front().second = "other";
  CHECK(print() != first);
  server.env.front().second = "secret-value";
  server.args.back() = "--y";
  CHECK(print() != first);
  server.args.back() = "--x";
  server.inherit_env.names = {"SECRET"};
  CHECK(print() != first);
  server.inherit_env.names.clear();
  server.inherit_env.mode = config::InheritedEnv::Mode::all;
  CHECK(print() != first);
  server.inherit_env.mode = config::InheritedEnv::Mode::usual;
  server.identity.meta = {{"com.example/x", "constant"}};
  CHECK(print() != first);
  server.identity.meta.clear();
  server.isolation = config::Isolation::shared;
  CHECK(print() != first);
  server.isolation = config::Isolation::automatic;
  CHECK(print() == first);
  folder.write("script", "22");
  const std::string second = print();
  CHECK(second != first);
  folder.write("program", "#!/bin/sh\n\n", 0700);
  CHECK(print() != second);

  // Its name does not change with what it reads.
  const std::string name = memory_place(server, environment.data()).name;
  server.env.clear();
  CHECK(memory_place(server, environment.data()).name == name);
  server.args.clear();
  CHECK(memory_place(server, environment.data()).name != name);
}

TEST_CASE("the directory is that of the service, or of the user", "[layers]") {
  config::Server server;
  const auto directory = [&](std::vector<const char*> environment) {
    environment.push_back(nullptr);
    return memory_place(server, environment.data()).directory;
  };
  CHECK(directory({}).empty());
  CHECK(directory({"HOME=relative"}).empty());
  CHECK(directory({"HOME=/h"}) == "/h/.local/state/lineward/memory");
  CHECK(directory({"HOME=/h", "XDG_STATE_HOME=/x"}) == "/x/lineward/memory");
  CHECK(directory({"XDG_STATE_HOME=/x", "STATE_DIRECTORY=/var/lib/lineward:/other"}) ==
        "/var/lib/lineward/memory");
  server.remember.directory = "/own";
  CHECK(directory({"HOME=/h"}) == "/own");
}

TEST_CASE("leftovers of interrupted writes go when a file is read", "[layers]") {
  const Folder folder;
  const MemoryPlace place{folder.path, "name", "print"};
  const std::string digest(32, 'a'), id(16, '0');
  const auto is_there = [&](const std::string& name) {
    return std::filesystem::exists(std::filesystem::symlink_status(folder.path + "/" + name));
  };
  const auto make = [&](const std::string& name, int age) {
    folder.write(name, "half");
    const timespec then{::time(nullptr) - age, 0};
    const timespec times[] = {then, then};
    REQUIRE(::utimensat(AT_FDCWD, (folder.path + "/" + name).c_str(), times, 0) == 0);
  };
  const std::string left = digest + ".memory." + id;
  const std::vector<std::string> others{digest + ".memory",
                                        digest + ".memory." + id + "0",
                                        digest + ".memory." + id + ".x",
                                        "A" + left.substr(1),
                                        "a" + left,
                                        digest + ".memory." + std::string(16, 'g'),
                                        "notes.txt"};
  make(left, 61);
  for (const std::string& one : others)
    make(one, 100'000);
  const std::string link = digest + ".memory." + std::string(16, '1');
  std::filesystem::create_symlink(folder.path + "/notes.txt", folder.path + "/" + link);
  const timespec old[] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (folder.path + "/" + link).c_str(), old, AT_SYMLINK_NOFOLLOW) == 0);
  const std::string young = digest + ".memory." + std::string(16, '2');
  make(young, 30);
  CHECK(why(place).empty());
  CHECK_FALSE(is_there(left));
  for (const std::string& one : others)
    CHECK(is_there(one));
  CHECK(is_there(link));
  CHECK(is_there(young));
}
