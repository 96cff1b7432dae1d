// What `lineward top` asks a gateway for, again and again: one request after the other, none of which blocks.
// A gateway that goes away is looked for, also under another name where none was given.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/control_connection.h"
#include "cli/top_model.h"

namespace lineward::cli {

class GatewayPoll {
 public:
  // `address`: as find_gateway() takes it. What is learned goes into `model`.
  GatewayPoll(std::string socket, std::string address, std::chrono::milliseconds interval, TopModel& model);

  const std::string& socket() const { return socket_; }
  // The connection to wait for; null: none until until().
  const ControlConnection* connection() const { return connection_.get(); }
  std::chrono::steady_clock::time_point until() const { return until_; }
  // After the wait. True when all of it is new, or cannot be had.
  bool advance();
  // Not at its time but now.
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
  std::string body_;
  nlohmann::json calls_;
  size_t pages_ = 0;
  std::string next_page_;
  std::chrono::steady_clock::time_point until_, began_, heard_, counted_;
};

}  // namespace lineward::cli
