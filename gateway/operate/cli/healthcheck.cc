#include "operate/cli/healthcheck.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include "config/duration.h"
#include "config/options/names.h"
#include "config/options/read_value.h"
#include "operate/fetch/http_exchange.h"

namespace lineward::cli {
namespace {

constexpr const char* kHealthcheckHelp = "lineward healthcheck --help";
constexpr std::string_view kDefaultAddress = "127.0.0.1:9464";
constexpr const char* kHealthFooter =
    "Ends with 0 if the gateway is ready, with 1 if it answers that it is not ready, and with 69 if no\n"
    "gateway answers.\n"
    "\n"
    "Examples\n"
    "  lineward healthcheck\n"
    "  lineward healthcheck --live --ops 127.0.0.1:9000\n"
    "  HEALTHCHECK CMD [\"/lineward\", \"healthcheck\"]";

// The address is one that socket_fault() accepts.
fetch::HttpTarget target_at(const std::string& address, std::string path) {
  if (address.rfind("unix:", 0) == 0) return fetch::unix_target(address.substr(5), std::move(path));
  fetch::HttpTarget target = fetch::unix_target({}, std::move(path));
  const size_t colon = std::min(address.rfind(':'), address.size() - 1);
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  // The address at which a listener on every interface is reachable.
  if (host.empty() || host == "0.0.0.0" || host == "*" || host == "::") host = "127.0.0.1";
  target.url.host = host;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), target.url.port);
  return target;
}

std::string address_of(const HealthcheckFlags& flags, const CommandContext& around) {
  if (!flags.ops.empty()) return flags.ops;
  std::optional<std::string> named = around.env ? around.env("LINEWARD_OPS_ADDRESS") : std::nullopt;
  return named && !named->empty() ? *named : std::string(kDefaultAddress);
}

}  // namespace

void add_healthcheck(CLI::App& app, HealthcheckFlags& flags) {
  CLI::App* command = app.add_subcommand("healthcheck", "Asks a running gateway whether it is ready.");
  command->add_option("--ops", flags.ops, "Its probes: 127.0.0.1:9464 (default), :9464, unix:/path")
      ->type_name("ADDR");
  command->add_option("--timeout", flags.timeout, "How long it may take to answer (5s)")->type_name("DUR");
  command->add_flag("--live", flags.live,
                    "Only whether its event loop turns, not whether its servers are ready");
  command->footer(kHealthFooter);
}

ExitCode healthcheck(const HealthcheckFlags& flags, const CommandContext& around) {
  const auto timeout = config::parse_duration(flags.timeout);
  if (!timeout) return bad_usage(around.err, "--timeout: " + timeout.error().text, kHealthcheckHelp);
  const std::string address = address_of(flags, around);
  if (address == "off")
    return bad_usage(around.err, "the ops listener is off: no address to ask", kHealthcheckHelp);
  if (const std::string_view fault = config::socket_fault(address); !fault.empty())
    return bad_usage(around.err, fmt::format("'{}' is no address: {}", config::clip(address), fault),
                     kHealthcheckHelp);
  const auto target = target_at(address, flags.live ? "/livez" : "/readyz");
  const auto answer = fetch::fetch(target, target.request("GET", "Connection: close\r\n"), nullptr,
                                   std::chrono::steady_clock::now() + *timeout);
  if (const int error = answer.step.error; error != 0) {
    around.err << fmt::format(
        "error: no gateway answers at {}: {}\n  fix    name its ops listener: --ops ADDR, or "
        "LINEWARD_OPS_ADDRESS\n",
        config::clip(address), std::strerror(error));
    return ExitCode::unavailable;
  }
  if (answer.status == 0) {
    around.err << fmt::format("error: {} did not answer within {} as a gateway does\n", config::clip(address),
                              flags.timeout);
    return ExitCode::unavailable;
  }
  if (answer.status == 200) {
    around.out << (flags.live ? "live\n" : "ready\n");
    return ExitCode::ok;
  }
  std::string said = answer.body;
  if (said.empty() || said.back() != '\n') said += '\n';
  around.err << said;
  return ExitCode::failure;
}

}  // namespace lineward::cli
