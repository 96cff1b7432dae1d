#include "foundation/net/authorities.h"

#include <openssl/x509.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace lineward::net;

namespace {

// A machine's root with these files in it.
struct Machine {
  std::filesystem::path root = std::filesystem::temp_directory_path() / "lineward-authorities-XXXXXX";

  Machine() {
    std::string name = root;
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root = name;
  }
  ~Machine() { std::filesystem::remove_all(root); }

  std::string put(const std::string& path, const std::string& text = "a certificate") {
    std::filesystem::create_directories((root.string() + path).substr(0, (root.string() + path).rfind('/')));
    std::ofstream(root.string() + path) << text;
    return root.string() + path;
  }
  std::string found() const { return bundle_elsewhere(root); }
};

}  // namespace

TEST_CASE("OpenSSL's own place comes first, file or folder") {
  Machine file;
  file.put("/etc/ssl/certs/ca-certificates.crt");
  file.put(X509_get_default_cert_file());
  CHECK(file.found().empty());
  Machine folder;
  folder.put("/etc/ssl/certs/ca-certificates.crt");
  folder.put(std::string(X509_get_default_cert_dir()) + "/0a.0");
  CHECK(folder.found().empty());
}

TEST_CASE("each distribution's bundle is found where it is the only one") {
  for (const char* path :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    Machine machine;
    const std::string bundle = machine.put(path);
    CHECK(machine.found() == bundle);
  }
}

TEST_CASE("a bundle without a byte, a folder in its place and an empty folder of OpenSSL's are nothing") {
  Machine machine;
  machine.put("/etc/ssl/certs/ca-certificates.crt", "");
  machine.put("/etc/ssl/cert.pem/file");
  std::filesystem::create_directories(machine.root.string() + X509_get_default_cert_dir());
  CHECK(machine.found().empty());
  const std::string bundle = machine.put("/etc/ssl/ca-bundle.pem");
  CHECK(machine.found() == bundle);
}

TEST_CASE("a machine without anything has no bundle") {
  CHECK(Machine().found().empty());
}
