#include "listen_ears.h"

#include <fmt/format.h>

#include <algorithm>

namespace lineward::sim {

std::string ListenEars::wishes() const {
  std::string wishes = mine_.wants_tools ? R"("toolsListChanged":true)" : "";
  if (mine_.wants_prompts) wishes += std::string(wishes.empty() ? "" : ",") + R"("promptsListChanged":true)";
  if (!mine_.together && mine_.wants_resource)
    wishes += fmt::format(R"({}"resourceSubscriptions":["{}"])", wishes.empty() ? "" : ",", uri_of(client_));
  return wishes;
}

bool ListenEars::is_wished(const std::string& method, const std::string& text) const {
  return !((method == "notifications/tools/list_changed" && !mine_.wants_tools) ||
           (method == "notifications/prompts/list_changed" && !mine_.wants_prompts) ||
           (method == "notifications/resources/updated" &&
            (!mine_.wants_resource || mine_.together || text.find(uri_of(client_)) == std::string::npos)));
}

void ListenEars::notification(const std::string& raw_id, const Json& message, const std::string& text) {
  const std::string method = message.value("method", "");
  const Json& params = object_in(message, "params");
  const Json& meta = object_in(params, "_meta");
  if (member_of(meta, "io.modelcontextprotocol/subscriptionId").dump() != raw_id)
    ledger_.violation("a notification of a listen has another id than the listen", text);
  if (method == "notifications/subscriptions/acknowledged") {
    if (acknowledged_ >= 0) ledger_.violation("a listen was acknowledged twice", text);
    acknowledged_ = world_.now();
    world_.tell(fmt::format("client {}'s listen is acknowledged", client_));
    return;
  }
  if (acknowledged_ < 0) ledger_.violation("something came on a listen before it was acknowledged", text);
  if (!is_wished(method, text)) ledger_.violation("a listen is told what it did not wish to hear", text);
  if (method == "notifications/resources/updated") updated();
}

void ListenEars::ended() {
  world_.tell(fmt::format("client {}'s listen has ended", client_));
  stopped_ = std::max(stopped_, Time(0));
}

void ListenEars::stopped() {
  world_.tell(fmt::format("client {} listens no more", client_));
  stopped_ = world_.now();
}

void ListenEars::judge() const {
  if (!plan_.calm || mine_.together || mine_.listens_at < 0 || mine_.listens_dropped || acknowledged_ < 0)
    return;
  const ServerPlan& server = plan_.servers[mine_.server];
  // A session's process may end because no call uses it, and takes its subscriptions along.
  if (!mine_.modern &&
      (!server.http || plan_.config.servers[mine_.server].isolation == config::Isolation::call))
    return;
  if (server.http && !server.modern && (!server.sessions || !server.get_stream)) return;
  if (mine_.modern && !mine_.wants_resource) return;
  const auto wanted = std::count_if(server.pulses.begin(), server.pulses.end(), [this](Time pulse) {
    return pulse > acknowledged_ + kSecond && pulse < stopped_ - kSecond;
  });
  if (wanted > 0 && updates_ == 0)
    ledger_.violation("who listens does not hear what the server tells",
                      fmt::format("client {} missed {} updates", client_, wanted));
}

}  // namespace lineward::sim
