#include "config/reader/tls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options/read_value.h"
#include "config/reader/section_findings.h"
#include "config/reader/variables.h"
#include "foundation/base/regular_file.h"
#include "foundation/net/certificate.h"
#include "foundation/net/tls_listener.h"

namespace lineward::config {
namespace {

using Clock = std::chrono::system_clock;

constexpr size_t kMaxCertificates = 1000;
constexpr size_t kMaxAuthorities = 1 << 20;
constexpr auto kSoon = std::chrono::hours(14 * 24);

std::string_view without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return port && host.find(':') == colon ? host.substr(0, colon) : host;
}

class TlsFindings {
 public:
  TlsFindings(const Member* listen, const std::string& name, LoadResult& result)
      : findings_(listen, name, result), result_(result) {
    tls_ = listen != nullptr ? listen->value.find("tls") : nullptr;
  }

  Diagnostic& add(std::string_view option, std::string code, std::string message, std::string hint) {
    Diagnostic& made = findings_.add("tls", std::move(code), std::move(message), std::move(hint));
    const Member* at = tls_ != nullptr ? tls_->value.find(option) : nullptr;
    if (at != nullptr) {
      made.line = at->line;
      made.column = at->column;
      made.length = at->length;
    }
    return made;
  }
  void check_secrecy(const char* option, const std::string& path) {
    const size_t before = result_.diagnostics.size();
    findings_.check_secrecy("tls", "open-key-file", path);
    if (result_.diagnostics.size() == before) return;
    Diagnostic found = std::move(result_.diagnostics.back());
    result_.diagnostics.pop_back();
    add(option, "open-key-file", path + " holds a key and can be read by every user of this machine",
        "chmod 600 it")
        .severity = found.severity;
  }

 private:
  SectionFindings findings_;
  const Member* tls_ = nullptr;
  LoadResult& result_;
};

void check_dates(const net::Certificate& certificate, std::string_view option, TlsFindings& findings) {
  const auto now = Clock::now();
  const std::string& file = certificate.source();
  if (certificate.not_after() <= now) {
    findings.add(option, "expired-certificate", file + ": the certificate has expired", "renew it");
  } else if (certificate.not_before() > now) {
    findings.add(option, "early-certificate", file + ": the certificate is not valid yet",
                 "check the clock of this machine");
  } else if (certificate.not_after() - now < kSoon) {
    const auto days =
        std::chrono::duration_cast<std::chrono::hours>(certificate.not_after() - now).count() / 24;
    findings
        .add(option, "expiring-certificate",
             fmt::format("{}: the certificate expires in {} day{}", file, days, days == 1 ? "" : "s"),
             "renew it: the files are read again when they change")
        .severity = Severity::warning;
  }
}

void check_names(const std::vector<net::CertificatePtr>& certificates, const Listen& listen,
                 TlsFindings& findings) {
  for (const std::string& host : listen.allowed_hosts) {
    const std::string_view name = without_port(host);
    const bool covered = std::any_of(certificates.begin(), certificates.end(),
                                     [&](const net::CertificatePtr& one) { return one->covers(name); });
    if (covered) continue;
    findings
        .add("certificate", "uncovered-host",
             fmt::format("no certificate has the name {} of listen.allowedHosts", clip(name)),
             "clients that use this name refuse the certificate")
        .severity = Severity::warning;
  }
}

net::CertificatePtr check_pair(const ListenTls::Pair& pair, std::string_view option, TlsFindings& findings) {
  auto read = net::Certificate::read({pair.certificate, pair.key, pair.ocsp});
  if (!read) {
    findings.add(option, "bad-certificate", read.error().text,
                 "certificate: and key: are PEM files of one pair");
    return nullptr;
  }
  const net::Certificate& certificate = **read;
  if (std::string fault = certificate.chain_fault(); !fault.empty())
    findings.add(option, "bad-chain", fmt::format("{}: {}", certificate.source(), fault),
                 "write the certificate first, then its issuer");
  if (certificate.names().empty())
    findings.add(option, "nameless-certificate",
                 certificate.source() + ": the certificate has no DNS name and no address (subjectAltName)",
                 "no client accepts it");
  check_dates(certificate, option, findings);
  return *read;
}

void check_clients(const ListenTls& tls, const Replicas& replicas, TlsFindings& findings) {
  if (tls.client_authorities.empty()) {
    if (tls.client_names.empty() && !tls.client_required) return;
    findings.add("clientCertificates", "missing-option", "clientCertificates takes authorities",
                 "add authorities: /path/clients-ca.pem");
    return;
  }
  if (!replicas.peers.empty() || !replicas.peers_from.empty())
    findings.add("clientCertificates", "bad-value",
                 "requests that replicas pass to each other carry no client certificate",
                 "remove replicas.peers (or peersFrom), or clientCertificates");
}

}  // namespace

void read_certificates(ValueReader& values, const Member& member, ListenTls& tls) {
  if (member.value.kind == NodeKind::null) return;
  if (member.value.kind != NodeKind::sequence) {
    values.add("wrong-type", "'certificates' is a list of maps with certificate and key", member.value).hint =
        "write certificates: [{ certificate: a.pem, key: a.key }]";
    return;
  }
  for (const Node& item : member.value.items) {
    if (tls.certificates.size() == kMaxCertificates) {
      values.add("too-many", fmt::format("more than {} certificates", kMaxCertificates), item);
      return;
    }
    if (item.kind != NodeKind::mapping) {
      values.add("wrong-type", "one of 'certificates' is a map with certificate and key", item);
      continue;
    }
    ListenTls::Pair pair;
    const std::array<std::pair<std::string_view, std::string*>, 3> fields{
        {{"certificate", &pair.certificate}, {"key", &pair.key}, {"ocsp", &pair.ocsp}}};
    for (const Member& field : item.members) {
      auto known =
          std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == field.key; });
      if (known == fields.end()) {
        values.add("unknown-option", fmt::format("'{}' is not an option here", clip(field.key)), field).hint =
            "there are certificate, key and ocsp";
        continue;
      }
      Value value;
      const Option* option = find_option("listen.tls." + field.key);
      if (values.read_option(*option, field.value, value)) *known->second = value.text;
    }
    if (pair.certificate.empty()) {
      values.add("missing-option", "one of 'certificates' has no certificate", item).hint =
          "add certificate: /path/cert.pem";
      continue;
    }
    tls.certificates.push_back(std::move(pair));
  }
}

void check_tls(const Member* section, const std::string& name, Listen& listen, const LoadOptions& options,
               LoadResult& result) {
  ListenTls& tls = listen.tls;
  TlsFindings findings(section, name, result);
  check_clients(tls, result.config.replicas, findings);
  if (tls.certificate.empty() && !(tls.key.empty() && tls.ocsp.empty())) {
    findings.add(tls.key.empty() ? "ocsp" : "key", "missing-option", name + ".tls takes a certificate",
                 "add certificate: /path/cert.pem");
    return;
  }
  if (!tls.enabled()) {
    if (tls.client_authorities.empty() && tls.min_version == TlsMinimum::tls12) return;
    findings.add("certificate", "missing-option", name + ".tls takes a certificate",
                 "add certificate: and key:");
    return;
  }
  if (tls.self_signed && !tls.pairs().empty())
    findings.add("selfSigned", "bad-value", name + ".tls has a certificate and selfSigned",
                 "remove one of them");
  const std::string& address = listen.address;
  if (address == "stdio" || address.rfind("unix:", 0) == 0) {
    findings.add("certificate", "bad-value",
                 fmt::format("TLS is for TCP: {}.address is {}", name, clip(address)),
                 "write host:port, or remove tls:");
    return;
  }
  for (std::string* file : {&tls.certificate, &tls.key, &tls.ocsp, &tls.client_authorities}) {
    if (!file->empty()) *file = resolve_path(*file, options.directory);
  }
  for (ListenTls::Pair& pair : tls.certificates) {
    for (std::string* file : {&pair.certificate, &pair.key, &pair.ocsp}) {
      if (!file->empty()) *file = resolve_path(*file, options.directory);
    }
  }
  if (!options.read_files) return;
  std::vector<net::CertificatePtr> certificates;
  const std::vector<ListenTls::Pair> pairs = tls.pairs();
  for (size_t i = 0; i < pairs.size(); ++i) {
    const bool single = i == 0 && !tls.certificate.empty();
    auto certificate = check_pair(pairs[i], single ? "certificate" : "certificates", findings);
    if (!certificate) continue;
    findings.check_secrecy(single ? "key" : "certificates",
                           pairs[i].key.empty() ? pairs[i].certificate : pairs[i].key);
    certificates.push_back(std::move(certificate));
  }
  if (certificates.size() == pairs.size()) check_names(certificates, listen, findings);
  if (certificates.size() != pairs.size() || certificates.empty() || tls.client_authorities.empty()) return;
  auto authorities = read_regular_file(tls.client_authorities, kMaxAuthorities);
  net::TlsListenerOptions trial;
  trial.certificates = std::move(certificates);
  trial.client_authorities = authorities ? *authorities : std::string();
  std::string fault = authorities ? std::string() : authorities.error().text;
  if (authorities && authorities->empty()) fault = "the file is empty";
  if (fault.empty()) {
    if (auto made = net::TlsListener::make(std::move(trial)); !made) fault = made.error().text;
  }
  if (!fault.empty())
    findings.add("clientCertificates", "bad-authorities",
                 fmt::format("{}: {}", tls.client_authorities, fault),
                 "authorities: is a PEM file of certificates");
}

}  // namespace lineward::config
