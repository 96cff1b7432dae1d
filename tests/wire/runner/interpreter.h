// Runs a parsed script from its first line to its last, then ends everything: gateways drain, stubs hang up,
// and no process may be left. Each script has an Interpreter.
#pragma once

#include <map>
#include <memory>

#include "client.h"
#include "gateway.h"
#include "http_origin.h"
#include "peer.h"
#include "stdio_client.h"
#include "upstream.h"

namespace lineward::wire {

class Interpreter : public Peer {
 public:
  Interpreter(Run& run, const GatewayProgram& program);
  ~Interpreter() override;

  void run_script();  // failures go to run().fail

 private:
  void execute(const Command& command) override;
  void on_upstream(const Command& command);
  void on_client(const Command& command);
  void on_stdio_client(const Command& command);
  void on_gateway(const Command& command);
  void start_gateway(Gateway& gateway, const Command& command);
  void expect_no_process(const std::string& tag, Clock::time_point deadline);
  void wait_for_peers();
  void end_gateways();

  const GatewayProgram& program_;
  std::map<std::string, std::unique_ptr<Upstream>> upstreams_;
  std::map<std::string, std::unique_ptr<HttpOrigin>> origins_;
  std::map<std::string, std::unique_ptr<Client>> clients_;
  std::map<std::string, std::unique_ptr<StdioClient>> stdio_clients_;
  std::map<std::string, std::unique_ptr<Gateway>> gateways_;
  bool allow_leftovers_ = false;
};

std::string dedent(std::string_view yaml);  // without the outer braces and the common indentation

}  // namespace lineward::wire
