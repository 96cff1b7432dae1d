#include "config/reader/audit.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "config/reader/changes.h"
#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

const std::string kServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";

LoadResult with(const std::string& audit) {
  return load("audit: " + audit + "\n" + kServer);
}

}  // namespace

TEST_CASE("an audit log is off unless it has a path, and its paths are the file's") {
  CHECK(load(kServer).config.audit.path.empty());
  LoadResult result = with("{ path: /var/log/a.jsonl, maxFileBytes: 1MiB, keepFiles: 0, onError: refuse }");
  INFO(result.report(false));
  REQUIRE(result.diagnostics.empty());
  CHECK(result.config.audit.max_file_bytes == 1024 * 1024);
  CHECK(result.config.audit.keep_files == 0);
  CHECK(result.config.audit.on_error == AuditError::refuse);
  CHECK(with("{ arguments: true }").has(Severity::error));
  CHECK(with("{ path: a, onError: stop }").has(Severity::error));
  CHECK(with("{ path: a, maxFileBytes: 1KiB }").has(Severity::error));
  CHECK(with("{ path: a, keyFile: /nowhere/key }").has(Severity::error));
}

TEST_CASE("a world-readable signing key gets a warning") {
  std::string path = "/tmp/lineward-audit-key-XXXXXX";
  close(mkstemp(path.data()));
  const std::string text = "{ path: a, keyFile: " + path + " }";
  CHECK(with(text).diagnostics.empty());
  REQUIRE(chmod(path.c_str(), 0644) == 0);
  CHECK(findings(with(text)).rfind("open-key-file 1:", 0) == 0);
  unlink(path.c_str());
}

TEST_CASE("a reload keeps the audit log that there is, and says so") {
  const Config now = with("{ path: /var/log/a.jsonl }").config;
  Config next = with("{ path: /var/log/b.jsonl, keepFiles: 3 }").config;
  const Changes changes = compare(now, next);
  REQUIRE(changes.settings.size() == 2);
  for (const SettingChange& one : changes.settings)
    CHECK(one.needs_restart);
  keep_fixed_settings(now, next);
  CHECK(next.audit == now.audit);
}
