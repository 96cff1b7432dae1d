// A client's reading of the messages of one of its calls, over any transport.
#pragma once

#include <string>

#include "ledger.h"
#include "script.h"

namespace lineward::sim {

class CallEars {
 public:
  CallEars(World& world, Ledger& ledger, size_t client) : world_(world), ledger_(ledger), client_(client) {}

  // Progress of it, on the stream or pipe that is its own.
  void progress(CallRecord& record, const std::string& token, const Json& message, const std::string& text);
  // Its answer, under the id that it should have; `names_it`: the id in it is one that must be right.
  void answer(CallRecord& record, const std::string& raw_id, const Json& message, const std::string& text,
              bool names_it);
  void end(CallRecord& record, std::string outcome);

 private:
  World& world_;
  Ledger& ledger_;
  size_t client_;
};

// The members of a modern request's _meta that name the client.
std::string modern_meta(size_t client, const std::string& capabilities);
// The request of a call: `answers` are more members of its params, of a retry.
struct CallText {
  std::string raw_id, token, tool, answers, meta;
};
std::string call_body(const CallPlan& plan, const CallText& text);
// The answers to an input_required result: members of the params of the retry. The tags in it are looked at.
std::string answers_to(Ledger& ledger, const CallPlan& plan, const Json& result);

// Which tools there are. Others may have asked the same: what they were told must not come here unless they
// are the same to the gateway.
struct Asked {
  Time at;
  bool has_left;
};
void judge_list(Ledger& ledger, const Plan& plan, size_t client, const Json& message, Asked asked);

}  // namespace lineward::sim
