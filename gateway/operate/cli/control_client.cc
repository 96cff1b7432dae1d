#include "operate/cli/control_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/reader/admin.h"
#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"
#include "operate/admin/control_path.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {
namespace {

// Limit for each gateway while searching for one.
constexpr std::chrono::seconds kMeantLimit{1};

// A configuration report has several lines with carets; all other texts are one line.
void make_reply_printable(nlohmann::json& body) {
  std::string report;
  auto found = body.find("report");
  const bool reported = found != body.end() && found->is_string();
  if (reported) report = terminal_text(found->get_ref<const std::string&>());
  make_printable(body);
  if (reported) body["report"] = std::move(report);
}

}  // namespace

// Sanitized whatever their source.
void make_printable(nlohmann::json& value) {
  if (value.is_string()) {
    value = sanitize(value.get_ref<const std::string&>(), std::string::npos);
  } else if (value.is_structured()) {
    for (nlohmann::json& element : value)
      make_printable(element);
  }
}

Result<ControlReply> reply_of(ControlConnection& connection) {
  if (!connection.fault().empty()) return fail(connection.fault());
  ControlReply reply;
  reply.status = connection.status();
  reply.body = lineward::json::parse_document(connection.take_body());
  if (!reply.body.is_object()) return fail(connection.socket() + " did not answer as a gateway does");
  make_reply_printable(reply.body);
  return reply;
}

Result<ControlReply> ask(const std::string& socket, const std::string& path, const std::string& body,
                         std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  ControlConnection connection(socket, path, body);
  while (!connection.over()) {
    pollfd wanted = connection.wants();
    if (!wait_for_any(&wanted, 1, until)) return fail(socket + " did not answer in time");
    connection.advance();
  }
  return reply_of(connection);
}

namespace {

// The sockets of gateways with their admin API at that address, configured or bound. Other gateways go to
// `others`.
std::vector<std::string> sockets_of(const std::string& address, std::vector<std::string>& others) {
  std::vector<std::string> out;
  for (std::string& socket : admin::live_sockets()) {
    auto reply = ask(socket, "/api/v1/status", {}, kMeantLimit);
    const std::string bound = reply ? text_of(reply->body, "admin") : std::string();
    const bool meant = reply && (bound == "http://" + address ||
                                 (!bound.empty() && text_of(reply->body, "admin_address") == address));
    if (!meant) others.push_back(bound.empty() ? "unix:" + socket : bound.substr(bound.rfind('/') + 1));
    if (meant) out.push_back(std::move(socket));
  }
  return out;
}

}  // namespace

Found find_gateway(const std::string& address) {
  Found found;
  // A gateway on TCP also has a socket in the usual directories.
  const bool tcp = config::is_tcp_address(address);
  if (address.empty() || address == "auto" || tcp) {
    std::vector<std::string> others;
    std::vector<std::string> all = tcp ? sockets_of(address, others) : admin::live_sockets();
    if (all.empty() && !others.empty()) {
      found.fault = fmt::format(
          "no gateway of this user has its admin API at {0}; there is {1}. These commands ask only what runs "
          "on this "
          "machine, over its control socket; elsewhere use the API: curl -H 'Authorization: Bearer TOKEN' "
          "http://{0}/api/v1/status",
          sanitize(address, 200), fmt::join(others, ", "));
    } else if (all.size() == 1) {
      found.socket = all[0];
    } else {
      found.several = std::move(all);
    }
    return found;
  }
  if (address.rfind("unix:/", 0) == 0) {
    found.socket = address.substr(5);
  } else if (address[0] == '/') {
    found.socket = address;
  } else {
    found.fault = "--admin: write unix:/path/of/its.sock";
  }
  return found;
}

}  // namespace lineward::cli
