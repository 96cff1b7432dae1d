#include "proxy/exchange/call_log.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::exchange;
using metrics::CancelInitiator;
using metrics::CancelOutcome;
using metrics::CancelTold;
using std::chrono::milliseconds;

namespace {

EndedCall ended(uint64_t tag) {
  EndedCall call;
  call.tag = tag;
  call.call.id = "c" + std::to_string(tag);
  return call;
}

uint64_t count(const metrics::UpstreamStats& stats, CancelInitiator initiator, CancelOutcome outcome) {
  return stats.cancellations[static_cast<size_t>(initiator)][static_cast<size_t>(outcome)];
}

}  // namespace

TEST_CASE("the last 256 are kept, in order") {
  CallLog log;
  for (uint64_t i = 1; i <= 300; ++i)
    log.add(ended(i));
  CHECK(log.find("c44") == nullptr);
  REQUIRE(log.find("c45") != nullptr);
  auto all = log.all();
  REQUIRE(all.size() == 256);
  CHECK(all.front()->call.id == "c45");
  CHECK(all.back()->call.id == "c300");
}

TEST_CASE("a cancel is settled before its call ends, or after, and counted once") {
  metrics::UpstreamStats stats("s");
  CallLog log;
  log.note_cancel(1, stats, CancelInitiator::timeout);
  log.on_cancel_settled(1, {});
  log.add(ended(1));
  REQUIRE(log.find("c1")->cancel);
  CHECK(log.find("c1")->cancel->told == CancelTold::not_sent);

  log.note_cancel(2, stats, CancelInitiator::operator_);
  log.add(ended(2));
  CHECK(log.find("c2")->cancelled);
  CHECK(!log.find("c2")->cancel);
  int told = 0;
  log.when_settled("c2", [&](const EndedCall* call) {
    ++told;
    CHECK(call->cancel->after == milliseconds(7));
  });
  CHECK(told == 0);
  log.on_cancel_settled(2, {CancelOutcome::raced, CancelTold::notification, milliseconds(7)});
  log.on_cancel_settled(2, {CancelOutcome::ignored, CancelTold::notification, milliseconds(9)});
  CHECK(told == 1);
  CHECK(count(stats, CancelInitiator::timeout, CancelOutcome::stopped) == 1);
  CHECK(count(stats, CancelInitiator::operator_, CancelOutcome::raced) == 1);
  CHECK(count(stats, CancelInitiator::operator_, CancelOutcome::ignored) == 0);

  log.when_settled("c2", [&](const EndedCall*) { ++told; });
  log.when_settled("nobody", [&](const EndedCall* call) { told += call == nullptr ? 10 : 0; });
  CHECK(told == 12);
}

TEST_CASE("a place in the ring keeps nothing of the call before") {
  metrics::UpstreamStats stats("s");
  CallLog log;
  for (uint64_t i = 1; i <= 256; ++i) {
    log.note_cancel(i, stats, CancelInitiator::client);
    log.on_cancel_settled(i, {});
    log.add(ended(i));
  }
  CHECK(log.find("c256")->cancelled);
  EndedCall& place = log.next(257);
  CHECK(place.tag == 257);
  CHECK(!place.cancelled);
  CHECK(!place.cancel);
  place.call.id = "c257";
  CHECK(log.find("c1") == nullptr);
  CHECK(log.all().size() == 256);
  CHECK(log.all().back() == log.find("c257"));
}

TEST_CASE("who waits for a call that is forgotten is told") {
  metrics::UpstreamStats stats("s");
  CallLog log;
  log.note_cancel(1, stats, CancelInitiator::client);
  log.add(ended(1));
  bool forgotten = false;
  log.when_settled("c1", [&](const EndedCall* call) { forgotten = call == nullptr; });
  for (uint64_t i = 2; i <= 300; ++i)
    log.add(ended(i));
  CHECK(forgotten);
  log.on_cancel_settled(1, {CancelOutcome::ignored, CancelTold::notification, milliseconds(5000)});
  CHECK(count(stats, CancelInitiator::client, CancelOutcome::ignored) == 1);
}
