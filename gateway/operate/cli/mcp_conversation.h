// A conversation with a server: a private gateway in front of it, a client, and Ctrl-C.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operate/cli/connect_target.h"
#include "operate/cli/gateway_process.h"
#include "operate/cli/interrupts.h"
#include "operate/mcp_client/client.h"

namespace lineward::cli {

class McpConversation {
 public:
  // `capabilities`: declared to the server. Errors are one plain sentence.
  static Result<std::unique_ptr<McpConversation>> begin(Target target, const GatewayStarter& start,
                                                        std::string_view version,
                                                        nlohmann::json capabilities);
  ~McpConversation();
  McpConversation(const McpConversation&) = delete;
  McpConversation& operator=(const McpConversation&) = delete;

  mcp_client::Client& client() { return client_; }
  Interrupts& interrupts() { return interrupts_; }
  const std::string& where() const { return where_; }
  // Asks the running gateway whether an operator took the named server out of service.
  bool is_held() const;
  // For an aggregate: adds servers taken out of service by an operator, which its lists omit.
  void add_held(std::vector<mcp_client::MissingPart>& missing) const;
  // The named server of the running gateway; may be empty.
  const std::string& upstream() const { return upstream_; }
  // Whether headers were given, which may contain credentials.
  bool has_credentials() const { return has_credentials_; }
  // Whether call ids are the running gateway's; those of a private gateway mean nothing elsewhere.
  bool asks_running_gateway() const { return folder_.empty() && !control_socket_.empty(); }
  // After client().cancel(): the outcome of the call, as `lineward cancel` prints it. Waits until it is
  // known, a signal arrives or ten seconds are over; empty if it is unknown.
  std::string became_of_cancel();
  // Ends the server in order, which may take a few seconds; a signal ends it at once.
  void end();

 private:
  McpConversation(Target target, StartedGateway gateway, std::string folder, std::string label,
                  nlohmann::json self, nlohmann::json capabilities);

  Interrupts interrupts_{SIGINT, SIGTERM};
  std::string where_;
  std::string upstream_;
  bool has_credentials_;
  std::string control_socket_;  // of the gateway that knows the outcome of calls
  std::string folder_;          // contains the private gateway's socket; empty: no private gateway
  std::string label_;           // of this client, as shown by that gateway
  GatewayProcess process_;
  mcp_client::LineLink link_;
  mcp_client::Client client_;
  bool ended_ = false;
};

}  // namespace lineward::cli
