// A calling client: the common parts of all clients, over any transport.
#pragma once

#include <string>

#include "call_ears.h"
#include "ledger.h"
#include "listen_ears.h"
#include "script.h"

namespace lineward::sim {

class Client {
 public:
  Client(World& world, Ledger& ledger, const Plan& plan, size_t index);
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual void begin() = 0;
  // It has nothing more to do: says goodbye where it does so, and closes what it has.
  virtual void leave() = 0;

 protected:
  // With `answers` the retry of one that was asked: members of its params.
  virtual void call(const CallPlan& call, const std::string& answers) = 0;
  // A modern server asks instead of answering: the client thinks a while, and comes back with its answers.
  void asked(CallRecord& record, const Json& result);
  std::string capabilities() const { return mine_.can_be_asked ? R"({"elicitation":{}})" : "{}"; }

  World& world_;
  Ledger& ledger_;
  const Plan& plan_;
  const ClientPlan& mine_;
  size_t index_;
  CallEars ears_;
  ListenEars listen_ears_;
};

}  // namespace lineward::sim
