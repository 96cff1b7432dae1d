#include "config/reader/addresses.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/reader/admin.h"
#include "config/reader/listeners.h"
#include "config/reader/section_findings.h"

namespace lineward::config {
namespace {

constexpr std::string_view kOps = "ops";

struct Listening {
  std::string section;
  std::string_view address;
  const Member* at = nullptr;  // of a listener
};

std::string_view host_of(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" ? std::string_view("127.0.0.1") : host;
}

bool takes_all(std::string_view host) {
  return host.empty() || host == "*" || host == "0.0.0.0" || host == "[::]";
}

}  // namespace

bool same_place(std::string_view one, std::string_view other) {
  if (one.substr(0, 5) == "unix:") return one == other;
  if (!is_tcp_address(one) || !is_tcp_address(other)) return false;
  const std::string_view port = one.substr(one.rfind(':') + 1);
  if (port != other.substr(other.rfind(':') + 1) || port.find_first_not_of('0') == std::string_view::npos)
    return false;
  return host_of(one) == host_of(other) || takes_all(host_of(one)) || takes_all(host_of(other));
}

void check_addresses(const Node& root, LoadResult& result) {
  const Config& config = result.config;
  std::vector<Listening> all{{"listen", config.listen.address}};
  for (const FurtherListen& one : config.listeners)
    all.push_back({"listeners." + one.name, one.listen.address, find_listener(root, one.name)});
  all.push_back({std::string(kOps), config.ops.address});
  all.push_back({"admin", config.admin.address});
  for (size_t later = 1; later < all.size(); ++later) {
    for (size_t first = 0; first < later; ++first) {
      if (!same_place(all[first].address, all[later].address)) continue;
      // The default ops address yields to another process that already has it.
      const bool is_default = all[later].section == kOps && !config.ops.given;
      SectionFindings findings = all[later].at != nullptr
                                     ? SectionFindings(all[later].at, all[later].section, result)
                                     : SectionFindings(root, all[later].section, result);
      Diagnostic& found = findings.add(
          "address", "same-address",
          fmt::format("{}.address {} is {}.address too: {}", all[later].section, all[later].address,
                      all[first].section,
                      is_default ? "there would be no probes and metrics" : "only one can listen there"),
          "give each a port, or a path, of its own");
      if (is_default) found.severity = Severity::warning;
      break;
    }
  }
}

}  // namespace lineward::config
