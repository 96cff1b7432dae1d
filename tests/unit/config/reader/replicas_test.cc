#include "config/reader/replicas.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "unit/config/reader/loading.h"

using namespace lineward::config;
using namespace lineward::config::testing;

namespace {

// A file of keys that is gone with it.
struct KeyFile {
  explicit KeyFile(const std::string& text, mode_t mode = 0600) {
    int fd = mkstemp(path.data());
    REQUIRE(fd >= 0);
    close(fd);
    std::ofstream(path) << text;
    REQUIRE(chmod(path.c_str(), mode) == 0);
  }
  ~KeyFile() { unlink(path.c_str()); }
  std::string path = "/tmp/lineward-keys-XXXXXX";
};

const std::string kKey(44, 'k');
const std::string kServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";

LoadResult with(const std::string& replicas) {
  return load("replicas: " + replicas + "\n" + kServer);
}

}  // namespace

TEST_CASE("replicas are read with their key file") {
  KeyFile file(kKey + "\n");
  LoadResult result =
      with("{ keyFile: " + file.path +
           ", name: a, peers: { a: 'http://10.0.0.1:8000', b: 'unix:/run/b.sock' }, sessionLifetime: 2h }");
  INFO(result.report(false));
  REQUIRE(result.diagnostics.empty());
  CHECK(result.config.replicas.name == "a");
  CHECK(result.config.replicas.peers.size() == 2);
  CHECK(result.config.replicas.session_lifetime == std::chrono::hours(2));
}

TEST_CASE("what is wrong with replicas is told where it stands") {
  KeyFile good(kKey), open(kKey, 0644), weak("hunter2\n"), empty("# none\n");
  CHECK(findings(with("{ name: a }")).rfind("missing-option", 0) == 0);
  CHECK(findings(with("{ peers: { b: 'http://h:1' }, keyFile: " + good.path + " }"))
            .rfind("missing-option", 0) == 0);
  CHECK(findings(with("{ keyFile: /nowhere/keys }")) == "bad-key-file 1:13+7");
  LoadResult short_key = with("{ keyFile: " + weak.path + " }");
  CHECK(findings(short_key) == "bad-key-file 1:13+7");
  CHECK(short_key.report(false).find("line 1 has 7 characters") != std::string::npos);
  CHECK(short_key.report(false).find("hunter2") == std::string::npos);
  CHECK(findings(with("{ keyFile: " + empty.path + " }")) == "bad-key-file 1:13+7");
  LoadResult readable = with("{ keyFile: " + open.path + " }");
  CHECK(findings(readable) == "open-key-file 1:13+7");
  CHECK(readable.ok());
  CHECK_FALSE(with("{ name: 'a b', keyFile: " + good.path + " }").ok());
  for (const char* url :
       {"10.0.0.1:8000", "http://", "http://h:1/mcp", "http://u@h:1", "ftp://h", "unix:/", "http://h:1?x"}) {
    INFO(url);
    CHECK_FALSE(with("{ name: a, keyFile: " + good.path + ", peers: { b: '" + url + "' } }").ok());
  }
}

TEST_CASE("a listener that expects a PROXY header of the replicas is told") {
  KeyFile keys(kKey);
  const auto found = [&](const std::string& listen, const std::string& peers, const std::string& more = {}) {
    return findings(load("replicas: { keyFile: " + keys.path + ", name: 10.0.0.1, " + peers +
                         " }\nlisten: { address: '127.0.0.1:1', trustedProxies: [10.0.0.0/24], " + listen +
                         " }\n" + more + kServer));
  };
  const std::string near = "peers: { b: 'http://10.0.0.2:1' }", far = "peers: { b: 'http://10.0.1.2:1' }";
  const std::string named = "peers: { b: 'http://replica-b:1' }", from = "peersFrom: 'http://replicas:1'";
  const std::string at_peers = "bad-value 1:65+5", at_from = "bad-value 1:65+9";
  CHECK(found("proxyProtocol: required", near) == at_peers);
  CHECK(found("proxyProtocol: required", far) == at_peers);
  CHECK(found("proxyProtocol: required", from) == at_from);
  CHECK(found("proxyProtocol: trusted", near) == at_peers);
  CHECK(found("proxyProtocol: trusted", from) == at_from);
  CHECK(found("proxyProtocol: trusted", far).empty());
  CHECK(found("proxyProtocol: trusted", named).empty());  // its addresses are not known
  CHECK(found("proxyProtocol: required", "sessionLifetime: 2h").empty());
  CHECK(found("maxHeadBytes: 16KiB", near).empty());
  CHECK(found("proxyProtocol: required", near, "listeners: { inner: { address: '127.0.0.1:2' } }\n").empty());
}

TEST_CASE("conf/replicas.yaml loads without a warning") {
  KeyFile keys(kKey);
  LoadOptions options;
  options.env = lookup_in(
      {{"HOSTNAME", "lineward-1"}, {"SEARCH_URL", "http://127.0.0.1:1/mcp"}, {"REPLICA_KEYS", keys.path}});
  options.plugins = &lineward::plugins::specs();
  LoadResult result = load_file(LINEWARD_SOURCE_DIR "/conf/replicas.yaml", options);
  INFO(result.report(false));
  REQUIRE(result.diagnostics.empty());
  CHECK(result.config.replicas.name == "lineward-1");
  CHECK(result.config.replicas.peers.size() == 2);
  CHECK(result.config.servers.size() == 2);
}
