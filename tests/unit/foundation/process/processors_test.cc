#include "foundation/process/processors.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

using namespace lineward;

namespace {

// A tree of control groups, and the file that names this process's.
struct Groups {
  Groups() {
    std::string name = (std::filesystem::temp_directory_path() / "lineward-groups-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~Groups() { std::filesystem::remove_all(folder); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  size_t granted(size_t processors) const {
    return process::granted_processors((folder / "self").string(), (folder / "root").string(), processors);
  }
  std::filesystem::path folder;
};

}  // namespace

TEST_CASE(
    "a control group grants the time of so many processors, rounded up, and its parents may grant less") {
  Groups groups;
  CHECK(groups.granted(8) == 8);  // no such file
  groups.write("self", "0::/a.slice/b.scope");
  CHECK(groups.granted(8) == 8);
  groups.write("root/a.slice/b.scope/cpu.max", "max 100000");
  CHECK(groups.granted(8) == 8);
  groups.write("root/a.slice/b.scope/cpu.max", "250000 100000");
  CHECK(groups.granted(8) == 3);
  CHECK(groups.granted(2) == 2);
  groups.write("root/a.slice/cpu.max", "50000 100000");
  CHECK(groups.granted(8) == 1);
  groups.write("root/a.slice/cpu.max", "not a number");
  CHECK(groups.granted(8) == 3);
}

TEST_CASE("a container sees its own group at the root, in either version of control groups") {
  Groups groups;
  groups.write("self", "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n0::/");
  groups.write("root/cpu/cpu.cfs_quota_us", "150000");
  groups.write("root/cpu/cpu.cfs_period_us", "100000");
  CHECK(groups.granted(8) == 2);
  groups.write("root/cpu/cpu.cfs_quota_us", "-1");
  CHECK(groups.granted(8) == 8);
  groups.write("root/cpu.max", "400000 100000");
  CHECK(groups.granted(8) == 4);
}

TEST_CASE("this machine has at least one processor for this process") {
  CHECK(process::available_processors() >= 1);
}
