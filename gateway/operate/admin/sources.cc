#include "operate/admin/sources.h"

#include <algorithm>

namespace lineward::admin {
namespace {

constexpr size_t kMostCertificates = 1000;

}  // namespace

std::vector<Sources::Shown> Sources::certificates() const {
  std::vector<Shown> all;
  const auto add = [&](const std::string& name, const std::string& shown) {
    const auto current = tls_of ? tls_of(name) : nullptr;
    const net::TlsListenerPtr now = current ? current->get() : nullptr;
    if (!now) return;
    for (const net::CertificatePtr& one : now->certificates())
      all.push_back({shown, one});
  };
  add({}, std::string(config::kFirstListener));
  for (const config::FurtherListen& one : config.listeners)
    add(one.name, one.name);
  if (all.size() <= kMostCertificates) return all;
  std::stable_sort(all.begin(), all.end(), [](const Shown& a, const Shown& b) {
    return a.certificate->not_after() < b.certificate->not_after();
  });
  all.resize(kMostCertificates);
  return all;
}

}  // namespace lineward::admin
