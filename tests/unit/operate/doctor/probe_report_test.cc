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

Verdict leave(const LeaveSeen& seen) {
  return found([&](Findings& to) { report_leave(Left::in_stream, seen, to); }).verdict;
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
    return found([&](Findings& to) { report_events(20, {count, milliseconds(ms), at_the_end}, to); }).verdict;
  };
  CHECK(verdict(20, 60) == Verdict::well);
  CHECK(verdict(20, 200) == Verdict::doubt);
  CHECK(verdict(20, 1000, true) == Verdict::fault);
  CHECK(verdict(19, 5) == Verdict::fault);
}

TEST_CASE("what becomes of a leave") {
  LeaveSeen seen;
  seen.how = LeaveSeen::How::arrived;
  seen.after = milliseconds(12);
  CHECK(leave(seen) == Verdict::well);
  seen.after = milliseconds(1100);
  CHECK(leave(seen) == Verdict::doubt);
  seen.how = LeaveSeen::How::never;
  seen.waited = milliseconds(15000);
  CHECK(leave(seen) == Verdict::fault);
  seen.how = LeaveSeen::How::unknown;
  CHECK(leave(seen) == Verdict::untold);
  seen.how = LeaveSeen::How::unread;
  CHECK(leave(seen) == Verdict::untold);
  Findings twice("s");
  seen = {};
  seen.how = LeaveSeen::How::arrived;
  seen.arrivals = 2;
  report_leave(Left::before_head, seen, twice);
  REQUIRE(twice.all().size() == 2);
  CHECK(twice.all().front().verdict == Verdict::doubt);
  CHECK(has(twice.all().back().text, "before the head"));
}

TEST_CASE("the cause of a quiet stream's cut") {
  const auto verdicts = [](QuietSeen with, QuietSeen without) {
    with.tried = without.tried = milliseconds(20000);
    Findings to("s");
    report_idle(with, without, milliseconds(5000), to);
    REQUIRE(to.all().size() == 2);
    return std::pair(to.all()[0].verdict, to.all()[1].verdict);
  };
  QuietSeen stays, early, late, refused;
  early.cut_after = milliseconds(6000);
  late.cut_after = milliseconds(15000);
  refused.why = "error 503: no place";
  CHECK(verdicts(stays, stays) == std::pair(Verdict::well, Verdict::well));
  CHECK(verdicts(stays, late) == std::pair(Verdict::well, Verdict::well));
  CHECK(verdicts(stays, early) == std::pair(Verdict::well, Verdict::doubt));
  CHECK(verdicts(early, early) == std::pair(Verdict::fault, Verdict::doubt));
  CHECK(verdicts(refused, refused) == std::pair(Verdict::untold, Verdict::untold));
}

TEST_CASE("the head, a large body, and what Lineward sees of the way") {
  const auto head = [](std::optional<milliseconds> after) {
    return found([&](Findings& to) { report_head(after, to); }).verdict;
  };
  CHECK(head(milliseconds(1020)) == Verdict::well);
  CHECK(head(milliseconds(3000)) == Verdict::doubt);
  CHECK(head(std::nullopt) == Verdict::fault);
  const auto body = [](int status, const char* fault) {
    return found([&](Findings& to) { report_body({status, fault}, to); });
  };
  CHECK(body(200, "").verdict == Verdict::well);
  CHECK(has(body(413, "HTTP 413").fix, "client_max_body_size"));
  CHECK(has(body(413, "error 413: the body is too large (listen.maxBodyBytes)").fix, "raise that limit"));
  FrontSeen seen;
  seen.host_sent = seen.host_came = "mcp.example.com";
  const auto front = [&] { return found([&](Findings& to) { report_front(seen, to); }); };
  CHECK(front().verdict == Verdict::well);
  seen.shares_connection = true;
  CHECK(front().verdict == Verdict::doubt);
  seen.signs = {"via"};
  CHECK(front().verdict == Verdict::well);
  CHECK(has(front().text, "via"));
  seen.host_came = "lineward";
  Findings two("s");
  report_front(seen, two);
  REQUIRE(two.all().size() == 2);
  CHECK(two.all().front().verdict == Verdict::doubt);
}
