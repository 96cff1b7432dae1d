#include "foundation/net/certificate.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "unit/foundation/net/made_certificate.h"

using namespace lineward;
using namespace lineward::net;

TEST_CASE("the facts of a certificate") {
  const MadeCertificate made("ignored", "DNS:One.test,DNS:*.two.test,IP:127.0.0.1,IP:::1,URI:x:y", nullptr,
                             3600);
  const CertificatePtr one = made.read("a.pem");
  CHECK(one->names() == std::vector<std::string>{"one.test", "*.two.test", "127.0.0.1", "::1"});
  CHECK(one->title() == "one.test");
  CHECK(one->covers("ONE.test"));
  CHECK(one->covers("a.two.test"));
  CHECK_FALSE(one->covers("two.test"));
  CHECK_FALSE(one->covers("a.b.two.test"));
  CHECK_FALSE(one->covers("ignored"));
  const auto left = one->not_after() - Certificate::Clock::now();
  CHECK(left > std::chrono::minutes(58));
  CHECK(left < std::chrono::minutes(62));
  CHECK(one->fingerprint().size() == 32 * 3 - 1);
  CHECK(one->chain_fault().empty());
}

TEST_CASE("the order of a chain") {
  const MadeCertificate root("root", "");
  const MadeCertificate leaf("leaf", "DNS:one.test", &root);
  const MadeCertificate other("other", "");
  CHECK(leaf.read("a.pem", root.pem())->chain_fault().empty());
  CHECK(leaf.read("a.pem", other.pem() + root.pem())->chain_fault() ==
        "certificate 2 did not issue certificate 1: each is followed by its issuer");
}

TEST_CASE("files that are no certificate with its key") {
  const MadeCertificate made("one", "DNS:one.test");
  const MadeCertificate other("other", "DNS:other.test");
  const auto fault = [](const std::string& pem, const std::string& key) {
    auto read = Certificate::parse(pem, key, "a.pem");
    return read ? std::string() : read.error().text;
  };
  CHECK(fault(made.pem(), made.key_pem()).empty());
  CHECK(fault(made.pem() + made.key_pem(), made.pem() + made.key_pem()).empty());
  CHECK(fault("", made.key_pem()) == "a.pem: there is no PEM certificate in it");
  CHECK(fault(made.pem(), "") == "a.pem: there is no PEM key without a passphrase");
  CHECK(fault(made.pem(), other.key_pem()) == "a.pem: the key is not that of the certificate");
  std::string broken = made.pem();
  broken[broken.size() / 2] = '*';
  CHECK_FALSE(fault(broken, made.key_pem()).empty());
  std::string many;
  for (int i = 0; i < 17; ++i)
    many += made.pem();
  CHECK(fault(many, made.key_pem()) == "a.pem: more than 16 certificates");
  CHECK_FALSE(Certificate::read({"/no/such/file", {}, {}}));
  const std::string path = "/tmp/lineward-certificate-test-" + std::to_string(getpid()) + ".pem";
  std::ofstream(path) << made.pem() << made.key_pem();
  CHECK(Certificate::read({path, {}, {}}));
  const auto with_ocsp = Certificate::read({path, {}, path});
  REQUIRE_FALSE(with_ocsp);
  CHECK(with_ocsp.error().text == path + ": this is no successful OCSP response in DER");
  unlink(path.c_str());
}

TEST_CASE("a certificate that signs itself") {
  auto made = Certificate::self_signed(std::chrono::hours(24));
  REQUIRE(made);
  CHECK((*made)->names() == std::vector<std::string>{"localhost", "127.0.0.1", "::1"});
  CHECK((*made)->chain_fault().empty());
}

TEST_CASE("the identities of a client certificate") {
  const auto of = [](const char* common_name, const char* names) {
    return identities_of(MadeCertificate(common_name, names).certificate);
  };
  CHECK(of("agent", "") == std::vector<std::string>{"agent"});
  CHECK(of("agent", "DNS:A.test,email:a@b.test,URI:spiffe://x/y,IP:1.2.3.4") ==
        std::vector<std::string>{"a.test", "a@b.test", "spiffe://x/y"});
  CHECK(of("with a blank", "").empty());
}
