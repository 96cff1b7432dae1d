#include "operate/doctor/probe_report.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward::doctor;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

const Finding& only(const Findings& findings) {
  REQUIRE(findings.all().size() == 1);
  return findings.all().front();
}

template <class Report>
Finding found(Report report) {
  Findings findings("s");
  report(findings);
  return only(findings);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Sent every 50 ms by a clock that is a minute ahead; each came so much later than at once.
std::vector<ProbeEvent> events(const std::vector<int>& late_ms) {
  std::vector<ProbeEvent> out;
  int64_t at = 1'000'000;
  for (int late : late_ms) {
    out.push_back({microseconds(at + 60'000'000), microseconds(at + 1000 * late)});
    at += 50'000;
  }
  return out;
}

CheckStatus leave(const LeaveSeen& seen) {
  return found([&](Findings& to) { report_leave(Left::in_stream, seen, to); }).status;
}

}  // namespace

TEST_CASE("how late events are") {
  CHECK(lateness_of({}, std::nullopt).count == 0);
  CHECK(lateness_of(events({3, 0, 7, 1}), std::nullopt).latest == milliseconds(7));
  CHECK_FALSE(lateness_of(events({3, 0, 7, 1}), std::nullopt).at_the_end);
  // Each as late as the others: seen only beside other answers.
  const microseconds at_once(-60'000'000);
  CHECK(lateness_of(events({200, 200, 200}), std::nullopt).latest == milliseconds(0));
  CHECK(lateness_of(events({200, 200, 200}), at_once).latest == milliseconds(200));
  CHECK(lateness_of(events({150, 100, 50, 0}), std::nullopt).at_the_end);
  CHECK(lateness_of(events({350, 300, 250, 200}), at_once).at_the_end);
}

TEST_CASE("what lateness means") {
  const auto verdict = [](size_t count, int ms, bool at_the_end = false) {
    return found([&](Findings& to) { report_events(20, {count, milliseconds(ms), at_the_end}, to); }).status;
  };
  CHECK(verdict(20, 60) == CheckStatus::ok);
  CHECK(verdict(20, 200) == CheckStatus::warning);
  CHECK(verdict(20, 1000, true) == CheckStatus::error);
  CHECK(verdict(19, 5) == CheckStatus::error);
}

TEST_CASE("what becomes of a leave") {
  LeaveSeen seen;
  seen.how = LeaveSeen::How::arrived;
  seen.after = milliseconds(12);
  CHECK(leave(seen) == CheckStatus::ok);
  seen.after = milliseconds(1100);
  CHECK(leave(seen) == CheckStatus::warning);
  seen.how = LeaveSeen::How::never;
  seen.waited = milliseconds(15000);
  CHECK(leave(seen) == CheckStatus::error);
  seen.how = LeaveSeen::How::unknown;
  CHECK(leave(seen) == CheckStatus::skipped);
  seen.how = LeaveSeen::How::unread;
  CHECK(leave(seen) == CheckStatus::skipped);
  Findings twice("s");
  seen = {};
  seen.how = LeaveSeen::How::arrived;
  seen.arrivals = 2;
  report_leave(Left::before_head, seen, twice);
  REQUIRE(twice.all().size() == 2);
  CHECK(twice.all().front().status == CheckStatus::warning);
  CHECK(has(twice.all().back().text, "before the head"));
}

TEST_CASE("the cause of a quiet stream's cut") {
  const auto verdicts = [](QuietSeen with, QuietSeen without) {
    with.tried = without.tried = milliseconds(20000);
    Findings to("s");
    report_idle(with, without, milliseconds(5000), to);
    REQUIRE(to.all().size() == 2);
    return std::pair(to.all()[0].status, to.all()[1].status);
  };
  QuietSeen stays, early, late, refused;
  early.cut_after = milliseconds(6000);
  late.cut_after = milliseconds(15000);
  refused.why = "error 503: no place";
  CHECK(verdicts(stays, stays) == std::pair(CheckStatus::ok, CheckStatus::ok));
  CHECK(verdicts(stays, late) == std::pair(CheckStatus::ok, CheckStatus::ok));
  CHECK(verdicts(stays, early) == std::pair(CheckStatus::ok, CheckStatus::warning));
  CHECK(verdicts(early, early) == std::pair(CheckStatus::error, CheckStatus::warning));
  CHECK(verdicts(refused, refused) == std::pair(CheckStatus::skipped, CheckStatus::skipped));
}

TEST_CASE("the head, a large body, and what Lineward sees of the way") {
  const auto head = [](std::optional<milliseconds> after) {
    return found([&](Findings& to) { report_head(after, to); }).status;
  };
  CHECK(head(milliseconds(1020)) == CheckStatus::ok);
  CHECK(head(milliseconds(3000)) == CheckStatus::warning);
  CHECK(head(std::nullopt) == CheckStatus::error);
  const auto body = [](int status, const char* fault) {
    return found([&](Findings& to) { report_body({status, fault}, to); });
  };
  CHECK(body(200, "").status == CheckStatus::ok);
  CHECK(has(body(413, "HTTP 413").fix, "client_max_body_size"));
  CHECK(has(body(413, "error 413: the body is too large (listen.maxBodyBytes)").fix, "raise that limit"));
  FrontSeen seen;
  seen.host_sent = seen.host_came = "mcp.example.com";
  const auto front = [&] { return found([&](Findings& to) { report_front(seen, to); }); };
  CHECK(front().status == CheckStatus::ok);
  seen.shares_connection = true;
  CHECK(front().status == CheckStatus::warning);
  seen.signs = {"via"};
  CHECK(front().status == CheckStatus::ok);
  CHECK(has(front().text, "via"));
  seen.host_came = "lineward";
  Findings two("s");
  report_front(seen, two);
  REQUIRE(two.all().size() == 2);
  CHECK(two.all().front().status == CheckStatus::warning);
}
