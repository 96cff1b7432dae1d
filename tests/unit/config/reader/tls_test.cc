#include "config/reader/tls.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "config/reader/changes.h"
#include "unit/config/reader/loading.h"
#include "unit/foundation/net/made_certificate.h"

using namespace lineward::config;
using namespace lineward::config::testing;
using lineward::net::MadeCertificate;

namespace {

const std::string kTlsServer = "mcpServers: { s: { url: 'http://127.0.0.1:1/mcp' } }\n";
constexpr long kDay = 86400;

// A file that is gone with it.
struct PemFile {
  explicit PemFile(const std::string& text, mode_t mode = 0600) {
    const int fd = mkstemp(path.data());
    REQUIRE(fd >= 0);
    close(fd);
    write(text);
    REQUIRE(chmod(path.c_str(), mode) == 0);
  }
  ~PemFile() { unlink(path.c_str()); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string path = "/tmp/lineward-tls-pem-XXXXXX";
};

// The certificate and its key in one file.
struct PairFile : PemFile {
  explicit PairFile(const MadeCertificate& made) : PemFile(made.pem() + made.key_pem()) {}
};

LoadResult with_tls(const std::string& tls, const std::string& more = {}) {
  return load("listen: { " + more + "tls: " + tls + " }\n" + kTlsServer);
}

std::string codes(const LoadResult& result) {
  std::string out;
  for (const Diagnostic& one : result.diagnostics)
    out += (out.empty() ? "" : " ") + one.code + (one.severity == Severity::error ? "!" : "");
  return out;
}

}  // namespace

TEST_CASE("listen.tls: one certificate, several, and all options") {
  const MadeCertificate one("one", "DNS:one.test"), two("two", "DNS:two.test"), ca("ca", "");
  const PemFile cert(one.pem(), 0644), key(one.key_pem()), authorities(ca.pem());
  const PairFile pair(two);
  const LoadResult result = with_tls(
      "{ certificate: " + cert.path + ", key: " + key.path + ", certificates: [{ certificate: " + pair.path +
      " }], minVersion: 1.3, clientCertificates: { authorities: " + authorities.path +
      ", names: ['a*', b], required: true } }");
  INFO(result.report(false));
  REQUIRE(result.diagnostics.empty());
  const ListenTls& tls = result.config.listen.tls;
  CHECK(tls.pairs() == std::vector<ListenTls::Pair>{{cert.path, key.path, ""}, {pair.path, "", ""}});
  CHECK(tls.min_version == TlsMinimum::tls13);
  CHECK(tls.client_authorities == authorities.path);
  CHECK(tls.client_names == std::vector<std::string>{"a*", "b"});
  CHECK(tls.client_required);
}

TEST_CASE("listen.tls: findings about options") {
  const MadeCertificate one("one", "DNS:one.test");
  const PairFile pair(one);
  const std::string good = "certificate: " + pair.path;
  CHECK(codes(with_tls("{ " + good + " }")).empty());
  CHECK(codes(with_tls("{}")).empty());
  CHECK(codes(with_tls("{ selfSigned: true }")).empty());
  CHECK(codes(with_tls("{ key: " + pair.path + " }")) == "missing-option!");
  CHECK(codes(with_tls("{ minVersion: 1.3 }")) == "missing-option!");
  CHECK(codes(with_tls("{ minVersion: 1.1, " + good + " }")) == "unknown-choice!");
  CHECK(codes(with_tls("{ selfSigned: true, " + good + " }")) == "bad-value!");
  CHECK(codes(with_tls("{ certificates: { a: b } }")) == "wrong-type!");
  CHECK(codes(with_tls("{ certificates: [ a.pem ] }")) == "wrong-type!");
  CHECK(codes(with_tls("{ certificates: [ { key: a.key } ] }")) == "missing-option!");
  CHECK(codes(with_tls("{ " + good + ", certificates: [ { certificate: " + pair.path + ", keys: x } ] }")) ==
        "unknown-option!");
  CHECK(codes(with_tls("{ " + good + ", clientCertificates: { required: true } }")) == "missing-option!");
  CHECK(codes(with_tls("{ " + good + " }", "address: 'unix:/tmp/x', ")) == "bad-value!");
  CHECK(codes(with_tls("{ " + good + " }", "address: stdio, ")) == "bad-value!");
}

TEST_CASE("listen.tls: findings about files") {
  const MadeCertificate root("root", ""), leaf("leaf", "DNS:one.test", &root), other("other", "DNS:b.test");
  const MadeCertificate nameless("nameless", ""), late("late", "DNS:one.test", nullptr, -60, -7200);
  const MadeCertificate early("early", "DNS:one.test", nullptr, 30 * kDay, kDay);
  const MadeCertificate soon("soon", "DNS:one.test", nullptr, 13 * kDay);
  const auto of_pair = [](const std::string& pem, const std::string& key) {
    const PemFile cert(pem), key_file(key);
    return codes(with_tls("{ certificate: " + cert.path + ", key: " + key_file.path + " }"));
  };
  CHECK(of_pair(leaf.pem() + root.pem(), leaf.key_pem()).empty());
  CHECK(of_pair(leaf.pem() + other.pem(), leaf.key_pem()) == "bad-chain!");
  CHECK(of_pair(root.pem() + leaf.pem(), leaf.key_pem()) == "bad-certificate!");
  CHECK(of_pair(leaf.pem(), other.key_pem()) == "bad-certificate!");
  CHECK(of_pair(leaf.pem(), "no key") == "bad-certificate!");
  CHECK(of_pair("no certificate", leaf.key_pem()) == "bad-certificate!");
  CHECK(of_pair(nameless.pem(), nameless.key_pem()) == "nameless-certificate!");
  CHECK(of_pair(late.pem(), late.key_pem()) == "expired-certificate!");
  CHECK(of_pair(early.pem(), early.key_pem()) == "early-certificate!");
  CHECK(of_pair(soon.pem(), soon.key_pem()) == "expiring-certificate");
  const PairFile pair(other);
  CHECK(codes(with_tls("{ certificate: " + pair.path + " }", "allowedHosts: [c.test, 'b.test:1'], ")) ==
        "uncovered-host");
  CHECK(codes(with_tls("{ certificate: /nowhere/a.pem }")) == "bad-certificate!");
  const PemFile readable(other.pem() + other.key_pem(), 0644), empty("");
  CHECK(codes(with_tls("{ certificate: " + readable.path + " }")) == "open-key-file");
  CHECK(codes(with_tls("{ certificate: " + pair.path + ", clientCertificates: { authorities: " + empty.path +
                       " } }")) == "bad-authorities!");
  // No text of a key is shown.
  const PemFile secret("-----BEGIN hunter2\n");
  const LoadResult shown = with_tls("{ certificate: " + pair.path + ", key: " + secret.path + " }");
  CHECK(shown.report(false).find("hunter2") == std::string::npos);
}

TEST_CASE("listen.tls: a changed file is a change of the configuration") {
  const MadeCertificate one("one", "DNS:one.test"), two("two", "DNS:two.test");
  const PairFile pair(one);
  Config now = with_tls("{ certificates: [ { certificate: " + pair.path + " } ] }").config;
  Config next = now;
  note_files(now);
  note_files(next);
  CHECK(compare(now, next).none());
  pair.write(two.pem() + two.key_pem());
  note_files(next);
  const Changes changes = compare(now, next);
  REQUIRE(changes.settings.size() == 1);
  CHECK(changes.settings[0].path == "listen.tls");
  CHECK(changes.settings[0].what == "a certificate or key changed on disk");
  CHECK_FALSE(changes.settings[0].needs_restart);
}
