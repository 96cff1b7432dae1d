#include "client.h"

namespace lineward::sim {

Client::Client(World& world, Ledger& ledger, const Plan& plan, size_t index)
    : world_(world),
      ledger_(ledger),
      plan_(plan),
      mine_(plan.clients[index]),
      index_(index),
      ears_(world, ledger, index),
      listen_ears_(world, ledger, plan, index) {}

void Client::asked(CallRecord& record, const Json& result) {
  const CallPlan& plan = *record.plan;
  record.parked = record.was_parked = true;
  if (!mine_.can_be_asked) ledger_.violation("a client is asked that did not declare it", result.dump());
  const std::string members = answers_to(ledger_, plan, result);
  if (plan.never_answers) {
    record.left = world_.now();
    record.left_parked = true;
    return;
  }
  world_.after(plan.answer_after, [this, &plan, &record, members] {
    if (record.left >= 0) return;
    record.parked = false;
    call(plan, members);
  });
}

}  // namespace lineward::sim
