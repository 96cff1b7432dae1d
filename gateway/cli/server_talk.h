// One conversation with a server: a gateway of its own in front of it, a client, and Ctrl-C.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/gateway_process.h"
#include "cli/interrupts.h"
#include "cli/talk_target.h"
#include "mcp_client/client.h"

namespace lineward::cli {

class ServerTalk {
 public:
  // `capabilities`: what is declared to the server. Errors are one plain sentence.
  static Result<std::unique_ptr<ServerTalk>> begin(Target target, const GatewayStarter& start,
                                                   std::string_view version, nlohmann::json capabilities);
  ~ServerTalk();
  ServerTalk(const ServerTalk&) = delete;
  ServerTalk& operator=(const ServerTalk&) = delete;

  mcp_client::Client& client() { return client_; }
  Interrupts& interrupts() { return interrupts_; }
  const std::string& where() const { return where_; }
  // Has an operator taken the server that was named out of service? Asks the running gateway.
  bool is_held() const;
  // Where all its servers are one: those that an operator took out of service, which its lists do not name.
  void add_held(std::vector<mcp_client::MissingPart>& missing) const;
  // Which server of the running gateway was named; may be empty.
  const std::string& upstream() const { return upstream_; }
  // Were headers given, which may say who calls?
  bool has_credentials() const { return has_credentials_; }
  // Does an id of a call that our own gateway gave out mean anything to somebody else?
  bool asks_running_gateway() const { return folder_.empty() && !control_socket_.empty(); }
  // After client().cancel(): what became of the call, as `lineward cancel` says it. Waits until that is
  // known, a signal comes or ten seconds are over; empty when nobody knows.
  std::string became_of_cancel();
  // The server is ended in order, which may take a few seconds; a signal ends it at once.
  void end();

 private:
  ServerTalk(Target target, StartedGateway gateway, std::string folder, std::string label,
             nlohmann::json self, nlohmann::json capabilities);

  Interrupts interrupts_{SIGINT, SIGTERM};
  std::string where_;
  std::string upstream_;
  bool has_credentials_;
  std::string control_socket_;  // of the gateway that knows what became of calls
  std::string folder_;          // with the socket of our own gateway in it; empty: there is none
  std::string label_;           // of this client, as that gateway shows it
  GatewayProcess process_;
  mcp_client::LineLink link_;
  mcp_client::Client client_;
  bool ended_ = false;
};

}  // namespace lineward::cli
