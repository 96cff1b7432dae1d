#include "foundation/net/file_watch.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace lineward::net;
using namespace std::chrono_literals;

namespace {

struct World {
  World() {
    std::string name = "/tmp/lineward-watch-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~World() {
    watch.reset();
    loop.close_all();
    std::filesystem::remove_all(folder);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name) << text;
  }
  void watch_directory() {
    const auto names = [](std::string_view name) { return name.substr(0, 1) == "a"; };
    watch = std::make_unique<FileWatch>(loop, folder, names, [this] { ++calls; });
  }
  int calls_within(std::chrono::milliseconds time) {
    calls = 0;
    Timer until(loop);
    until.start(time, [this] { loop.stop(); });
    loop.run();
    return calls;
  }
  Loop loop;
  std::string folder;
  std::unique_ptr<FileWatch> watch;
  int calls = 0;
};

}  // namespace

TEST_CASE("a watch of a directory hears of the names that it asks for") {
  World world;
  world.write("a1", "1");
  world.write("b1", "1");
  world.watch_directory();
  world.write("b1", "12");
  world.write("b2", "1");
  CHECK(world.calls_within(400ms) == 0);
  world.write("a1", "12");
  CHECK(world.calls_within(400ms) == 1);
  std::filesystem::rename(world.folder + "/b2", world.folder + "/a2");
  CHECK(world.calls_within(400ms) == 1);
  std::filesystem::remove(world.folder + "/a1");
  CHECK(world.calls_within(400ms) == 1);
  std::filesystem::permissions(world.folder + "/a2", std::filesystem::perms::owner_all);
  CHECK(world.calls_within(400ms) == 0);
}

TEST_CASE("a watch of a directory hears of a swapped link behind its names") {
  World world;
  namespace fs = std::filesystem;
  for (const char* version : {"..1", "..2"}) {
    fs::create_directory(world.folder + "/" + version);
    world.write(version + std::string("/a"), version);
  }
  fs::create_directory_symlink("..1", world.folder + "/..data");
  fs::create_symlink("..data/a", world.folder + "/a");
  world.watch_directory();
  fs::create_directory_symlink("..2", world.folder + "/..next");
  fs::rename(world.folder + "/..next", world.folder + "/..data");
  CHECK(world.calls_within(400ms) == 1);
}

TEST_CASE("a watch of a file says nothing if only its permissions change") {
  World world;
  world.write("a", "1");
  world.watch = std::make_unique<FileWatch>(world.loop, world.folder + "/a", [&] { ++world.calls; });
  std::filesystem::permissions(world.folder + "/a", std::filesystem::perms::owner_all);
  CHECK(world.calls_within(400ms) == 0);
  world.write("a", "12");
  CHECK(world.calls_within(400ms) == 1);
}
