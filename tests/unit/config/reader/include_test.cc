#include "config/reader/include.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "foundation/base/file_limit.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

struct Folder {
  Folder() {
    std::string name = "/tmp/lineward-include-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
    std::filesystem::create_directory(path + "/servers.d");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name, std::ios::binary) << text;
  }
  LoadResult load(const std::string& main, FileTexts texts = {}) const {
    write("lineward.yaml", main);
    LoadOptions options;
    options.plugins = &lineward::plugins::specs();
    options.look_at_plugins = false;
    options.included_texts = std::move(texts);
    return load_file(path + "/lineward.yaml", options);
  }
  std::string path;
};

std::string names(const LoadResult& result) {
  std::string all;
  for (const Server& server : result.config.servers)
    all += (all.empty() ? "" : " ") + server.name + (server.disabled ? "!" : "");
  return all;
}

constexpr const char* kMain =
    "include: [servers.d/*.yaml, \"servers.d/*.json\"]\n"
    "defaults: { timeouts: { request: 7s } }\n"
    "mcpServers: { main: { command: cat } }\n";

}  // namespace

TEST_CASE("included files add their servers, in the order of the globs and of their names") {
  Folder folder;
  folder.write("servers.d/b.yaml", "mcpServers: { two: { command: cat } }\n");
  folder.write("servers.d/a.yaml", "mcpServers: { one: { command: cat, timeouts: { request: 9s } } }\n");
  folder.write("servers.d/c.json", "{\"mcpServers\": {\"three\": {\"command\": \"cat\"}}}");
  folder.write("servers.d/empty.yaml", "\n# nothing yet\n");
  folder.write("servers.d/.hidden.yaml", "nonsense: [\n");
  folder.write("servers.d/other.txt", "nonsense: [\n");
  const LoadResult result = folder.load(kMain);
  INFO(result.report(false));
  REQUIRE(result.ok());
  CHECK(names(result) == "main one two three");
  CHECK(result.config.servers[0].file.empty());
  CHECK(result.config.servers[1].file == folder.path + "/servers.d/a.yaml");
  CHECK(result.config.servers[1].timeouts.request == std::chrono::seconds(9));
  CHECK(result.config.servers[2].timeouts.request == std::chrono::seconds(7));
  CHECK(result.config.include_directories == std::vector<std::string>{folder.path + "/servers.d"});
}

TEST_CASE("an included file holds servers alone; an error names the file and the line") {
  Folder folder;
  folder.write("servers.d/a.yaml", "mcpServers: { one: { command: cat } }\nlisten: { path: /x }\n");
  const LoadResult result = folder.load(kMain);
  REQUIRE_FALSE(result.ok());
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].code == "not-included");
  CHECK(result.place_of(result.diagnostics[0]) == folder.path + "/servers.d/a.yaml:2:1");
  CHECK(result.report(false).find("--> " + folder.path + "/servers.d/a.yaml:2:1\n    2 | listen:") !=
        std::string::npos);
}

TEST_CASE("an included file that is no YAML, or has a bad option, names itself") {
  Folder folder;
  folder.write("servers.d/a.yaml", "mcpServers: { one: {\n");
  folder.write("servers.d/b.yaml", "mcpServers:\n  two: { command: cat, timeouts: { request: 5 } }\n");
  const LoadResult result = folder.load(kMain);
  REQUIRE_FALSE(result.ok());
  for (const Diagnostic& one : result.diagnostics)
    CHECK(one.file.find("/servers.d/") != std::string::npos);
  CHECK(result.report(false).find("/servers.d/b.yaml:2:") != std::string::npos);
}

TEST_CASE("a name that is used twice is an error that names both files") {
  Folder folder;
  folder.write("servers.d/a.yaml", "mcpServers: { main: { command: cat }, one: { command: cat } }\n");
  folder.write("servers.d/b.yaml", "mcpServers: { one: { command: cat } }\n");
  const LoadResult result = folder.load(kMain);
  REQUIRE(result.diagnostics.size() == 2);
  CHECK(result.diagnostics[0].message == folder.path + "/lineward.yaml has a server 'main' already");
  CHECK(result.diagnostics[0].file == folder.path + "/servers.d/a.yaml");
  CHECK(result.diagnostics[1].message == folder.path + "/servers.d/a.yaml has a server 'one' already");
  CHECK(result.diagnostics[1].file == folder.path + "/servers.d/b.yaml");
}

TEST_CASE("a secret of an included file is in no report") {
  Folder folder;
  folder.write("servers.d/a.yaml", "mcpServers: { one: { env: { A: hunter2 }, comand: cat } }\n");
  const LoadResult result = folder.load(kMain);
  REQUIRE_FALSE(result.ok());
  CHECK(result.report(false).find("hunter2") == std::string::npos);
}

TEST_CASE("a glob has its wildcards in the name; a directory may be missing") {
  Folder folder;
  CHECK(folder.load("include: [later.d/*.yaml]\nmcpServers: { a: { command: cat } }\n").ok());
  const LoadResult result = folder.load("include:\n  - \"*/x.yaml\"\nmcpServers: { a: { command: cat } }\n");
  CHECK(findings(result) == "bad-value 2:5+10");
}

TEST_CASE("the configuration does not include itself, and no file twice") {
  Folder folder;
  folder.write("more.yaml", "mcpServers: { one: { command: cat } }\n");
  const LoadResult result =
      folder.load("include: [\"*.yaml\", more.yaml]\nmcpServers: { main: { command: cat } }\n");
  INFO(result.report(false));
  CHECK(result.ok());
  CHECK(names(result) == "main one");
}

TEST_CASE("the count of files and their size are bounded") {
  Folder folder;
  for (size_t i = 0; i <= kMaxIncludedFiles; ++i)
    folder.write("servers.d/" + std::to_string(i) + ".yaml", "");
  CHECK(folder.load(kMain).report(false).find("more than 1000 files") != std::string::npos);
  Folder large;
  for (size_t i = 0; i < 9; ++i)
    large.write("servers.d/" + std::to_string(i) + ".yaml", "#" + std::string(1000000, 'x') + "\n");
  CHECK(large.load(kMain).report(false).find("more than 8 MiB together") != std::string::npos);
  Folder huge;
  huge.write("servers.d/a.yaml", "#" + std::string(kMaxDocumentBytes, 'x') + "\n");
  CHECK_FALSE(huge.load(kMain).ok());
  std::string globs = "include: [";
  for (size_t i = 0; i <= kMaxIncludes; ++i)
    globs += std::to_string(i) + ".yaml, ";
  CHECK(folder.load(globs + "]\nmcpServers: { a: { command: cat } }\n")
            .report(false)
            .find("more than 16 globs") != std::string::npos);
}

TEST_CASE("Lineward's own file may disable servers of any file; a user's file may not") {
  Folder folder;
  const std::string heading = std::string(kOwnHeading) + "\n";
  folder.write("servers.d/a.yaml", "mcpServers: { one: { command: cat } }\n");
  folder.write("servers.d/lineward-servers.yaml",
               heading + "disabled: [one, gone]\nmcpServers: { own: { command: cat } }\n");
  LoadResult result = folder.load(kMain);
  INFO(result.report(false));
  REQUIRE(result.ok());
  CHECK(names(result) == "main one! own");
  folder.write("servers.d/lineward-servers.yaml", "disabled: [one]\nmcpServers: { own: { command: cat } }\n");
  CHECK_FALSE(folder.load(kMain).ok());
  SECTION("another text stands for the file") {
    const std::string own = *own_file_of({"servers.d/*.yaml"}, folder.path);
    CHECK(own == folder.path + "/servers.d/lineward-servers.yaml");
    CHECK(names(folder.load(kMain, {{own, heading + "mcpServers: { new: { command: cat } }\n"}})) ==
          "main one new");
    CHECK(names(folder.load(kMain, {{own, std::nullopt}})) == "main one");
  }
}

TEST_CASE("the own file is in the directory of the first glob that matches its name") {
  CHECK(own_file_of({"x/*.json", "y/*.yaml", "z/*"}, "/etc/l") == "/etc/l/y/lineward-servers.yaml");
  CHECK(own_file_of({"/abs/lineward-*.yaml"}, "/etc/l") == "/abs/lineward-servers.yaml");
  CHECK_FALSE(own_file_of({"x/*.json"}, "/etc/l"));
  CHECK_FALSE(own_file_of({}, "/etc/l"));
}

TEST_CASE("files of a file system that does not answer are not waited for one after the other") {
  using lineward::limit_file_waits;
  using lineward::within_file_limit;
  Folder folder;
  std::filesystem::create_directory(folder.path + "/more.d");
  for (const char* name : {"servers.d/a.yaml", "servers.d/b.yaml", "more.d/c.yaml"})
    folder.write(name, "mcpServers: {}\n");
  const std::vector<std::string> late =
      GENERATE(std::vector<std::string>{"/servers.d/a.yaml", "/servers.d/b.yaml"},
               std::vector<std::string>{"/servers.d", "/more.d"});
  limit_file_waits(std::chrono::milliseconds(50), std::chrono::milliseconds(50));
  std::promise<void> answers;
  std::shared_future<void> answer(answers.get_future());
  for (const std::string& path : late)
    REQUIRE_FALSE(within_file_limit(folder.path + path, [answer] { answer.wait(); }));
  const LoadResult result = folder.load("include: ['servers.d/*.yaml', 'more.d/*.yaml']\n");
  limit_file_waits(std::chrono::milliseconds(0), std::chrono::milliseconds(0));
  answers.set_value();
  const auto errors = std::count_if(result.diagnostics.begin(), result.diagnostics.end(),
                                    [](const Diagnostic& one) { return one.severity == Severity::error; });
  INFO(result.report(false));
  CHECK(errors == 1);
}
