#include "operate/cli/mcp_conversation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "foundation/base/random_id.h"
#include "operate/cli/control_client.h"
#include "operate/cli/control_text.h"
#include "operate/cli/gateway_choice.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {
namespace {

using mcp_client::Clock;
using mcp_client::LineLink;
using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kAskAgain{50};
constexpr std::chrono::seconds kLongestCancel{10};
// Longer than a server's stdinGrace and termGrace together; then it is killed.
constexpr std::chrono::seconds kLongestEnd{20};
constexpr const char* kName = "lineward call";

std::string private_folder() {
  const char* base = getenv("TMPDIR");
  std::string folder = std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/lineward-call-XXXXXX";
  return mkdtemp(folder.data()) != nullptr ? folder : std::string();
}

}  // namespace

Result<std::unique_ptr<McpConversation>> McpConversation::begin(Target target, const GatewayStarter& start,
                                                                std::string_view version, json capabilities) {
  // A unique name for each run, by which a gateway finds its calls.
  const std::string own = fmt::format("{}/{}", version, random_id().substr(0, 8));
  std::string folder;
  if (target.control_socket.empty()) {
    folder = private_folder();
    if (!folder.empty()) target.config.admin.address = "unix:" + folder + "/admin.sock";
  }
  // Its errors come in its answers; the log is optional.
  const int nowhere = target.logs ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
  auto gateway = start(target.config, nowhere >= 0 ? nowhere : STDERR_FILENO);
  if (nowhere >= 0) close(nowhere);
  if (!gateway) {
    if (!folder.empty()) rmdir(folder.c_str());
    return fail(gateway.error().text);
  }
  return std::unique_ptr<McpConversation>(
      new McpConversation(std::move(target), *gateway, std::move(folder), fmt::format("{} {}", kName, own),
                          json{{"name", kName}, {"version", own}}, std::move(capabilities)));
}

McpConversation::McpConversation(Target target, StartedGateway gateway, std::string folder, std::string label,
                                 json self, json capabilities)
    : where_(std::move(target.where)),
      upstream_(std::move(target.upstream)),
      has_credentials_(std::any_of(target.config.servers.begin(), target.config.servers.end(),
                                   [](const config::Server& server) { return !server.headers.empty(); })),
      control_socket_(folder.empty() ? target.control_socket : folder + "/admin.sock"),
      folder_(std::move(folder)),
      label_(std::move(label)),
      process_(gateway.pid),
      link_(gateway.socket, interrupts_.fd()),
      client_(link_, std::move(self), std::move(capabilities)) {}

McpConversation::~McpConversation() {
  end();
}

bool McpConversation::is_held() const {
  if (!asks_running_gateway() || upstream_.empty()) return false;
  auto reply = ask(control_socket_, "/api/v1/servers/" + upstream_);
  return reply && reply->status == 200 && is_true(reply->body, "held");
}

void McpConversation::add_held(std::vector<mcp_client::MissingPart>& missing) const {
  if (!asks_running_gateway() || !upstream_.empty()) return;
  auto reply = ask_pages(control_socket_, "/api/v1/servers", "servers");
  if (!reply || reply->status != 200) return;
  for (const json& one : reply->body["servers"]) {
    const std::string name = text_of(one, "name");
    if (is_true(one, "held"))
      missing.push_back({name, fmt::format("it is out of service (lineward server {} start)", name)});
  }
}

std::string McpConversation::became_of_cancel() {
  const auto until = Clock::now() + kLongestCancel;
  while (!control_socket_.empty() && Clock::now() < until) {
    auto reply = ask(control_socket_, "/api/v1/calls?all");
    if (!reply || reply->status != 200) return {};
    for (const json& call : reply->body.value("ended", json::array())) {
      if (text_of(call, "client") != label_ || text_of(call, "method") != "tools/call") continue;
      auto cancel = call.find("cancel");
      if (cancel != call.end() && cancel->is_object()) return cancel_line(call, 0);
    }
    // A second Ctrl-C skips the outcome.
    pollfd interrupt{interrupts_.fd(), POLLIN, 0};
    if (poll(&interrupt, 1, static_cast<int>(kAskAgain.count())) > 0) return {};
  }
  return {};
}

void McpConversation::end() {
  if (std::exchange(ended_, true)) return;
  link_.end_writes();
  const auto until = Clock::now() + kLongestEnd;
  std::string rest;
  for (;;) {
    const LineLink::Came came = link_.next(rest, until);
    if (came == LineLink::Came::line) continue;
    if (came != LineLink::Came::end) process_.kill_now();
    break;
  }
  process_.wait();
  if (folder_.empty()) return;
  unlink((folder_ + "/admin.sock").c_str());
  rmdir(folder_.c_str());
}

}  // namespace lineward::cli
