#include "foundation/process/stderr_tail.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using lineward::process::StderrTail;

namespace {

std::string told(const std::vector<std::string>& lines) {
  StderrTail words;
  for (const std::string& line : lines)
    words.add(line);
  return words.text();
}

}  // namespace

TEST_CASE("of what Node says at its end the error is told, and not its version") {
  CHECK(told({"node:internal/modules/cjs/loader:1143", "  throw err;", "  ^", "",
              "Error: Cannot find module '/srv/server.js'",
              "    at Module._resolveFilename (node:internal/modules/cjs/loader:1140:15)",
              "    at Module._load (node:internal/modules/cjs/loader:981:27) {",
              "  code: 'MODULE_NOT_FOUND',", "  requireStack: []", "}", "", "Node.js v20.20.2"}) ==
        "Error: Cannot find module '/srv/server.js'");
}

TEST_CASE("a module that is not there is told by its name") {
  CHECK(told({"node:internal/modules/esm/resolve:873",
              "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/x.mjs",
              "    at packageResolve (node:internal/modules/esm/resolve:873:9) {",
              "  code: 'ERR_MODULE_NOT_FOUND'", "}", "Node.js v20.20.2"}) ==
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /srv/x.mjs");
}

TEST_CASE("of what npx says the package is told, and not the log file") {
  CHECK(told({"npm error code E404",
              "npm error 404 Not Found - GET https://registry.example/@x%2fy - Not found", "npm error 404",
              "npm error 404  '@x/y@*' is not in this registry.", "npm error 404",
              "npm error 404 Note that you can also install from a",
              "npm error 404 tarball, folder, http url, or git folder.",
              "npm error A complete log of this run can be found in: /root/.npm/_logs/x-debug-0.log"}) ==
        "npm error 404  '@x/y@*' is not in this registry.");
}

TEST_CASE("of what Python says the exception is told") {
  CHECK(told({"Traceback (most recent call last):", "  File \"/srv/x.py\", line 1, in <module>",
              "    import nothing", "ModuleNotFoundError: No module named 'nothing'"}) ==
        "ModuleNotFoundError: No module named 'nothing'");
}

TEST_CASE("without an error the last line is told; one that was lived through is not") {
  CHECK(told({"starting", "listening", "bye"}) == "bye");
  CHECK(told({}).empty());
  CHECK(told({"one", "", "  \t"}) == "one");
  std::vector<std::string> lines{"Error: the first try"};
  for (size_t i = 0; i <= StderrTail::kWindow; ++i)
    lines.push_back("line " + std::to_string(i));
  CHECK(told(lines) == "line 30");
  lines.push_back("something failed");
  CHECK(told(lines) == "something failed");
}

TEST_CASE("the later one of two errors is told, the weaker one is not") {
  CHECK(told({"Error: first", "Error: second"}) == "Error: second");
  CHECK(told({"Error: first", "shutting down failed"}) == "Error: first");
  CHECK(told({std::string(1000, 'x')}).size() == StderrTail::kLongest);
}
