// The repeated requests of `lineward top` to a gateway: one after another, non-blocking. A lost gateway is
// searched for, with any address if none was given.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "operate/cli/control_connection.h"
#include "operate/cli/top_model.h"

namespace lineward::cli {

class GatewayPoll {
 public:
  // `address`: as for find_gateway(). Results go into `model`.
  GatewayPoll(std::string socket, std::string address, std::chrono::milliseconds interval, TopModel& model);

  const std::string& socket() const { return socket_; }
  // The connection to poll; null: none before until().
  const ControlConnection* connection() const { return connection_.get(); }
  std::chrono::steady_clock::time_point until() const { return until_; }
  // Call it after polling. True if all results are new, or the gateway cannot be reached.
  bool advance();
  // Starts the next round immediately.
  void hurry();

 private:
  enum class Step : uint8_t { status, servers, calls, log, rest };

  void begin(Step step, const std::string& path);
  void finished();
  void next_step();
  void use(nlohmann::json body);
  void trouble(const std::string& text);
  void rest();

  std::string socket_;
  const std::string address_;
  const std::chrono::milliseconds interval_;
  TopModel& model_;
  Step step_ = Step::rest;
  std::unique_ptr<ControlConnection> connection_;
  nlohmann::json calls_;
  size_t pages_ = 0;
  std::string next_page_;
  std::chrono::steady_clock::time_point until_, began_, heard_, counted_;
};

}  // namespace lineward::cli
