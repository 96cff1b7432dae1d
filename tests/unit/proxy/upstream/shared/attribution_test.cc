#include "proxy/upstream/shared/attribution.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

using namespace lineward;
using namespace lineward::upstream;
using std::chrono::milliseconds;

namespace {

core::UpstreamRequest of(const std::string& principal, const std::string& session, const std::string& peer,
                         bool own_connection = true) {
  auto from = std::make_shared<core::ClientRequest>();
  from->peer = peer;
  from->own_connection = own_connection;
  core::UpstreamRequest request;
  request.scope.principal = principal;
  request.scope.session = session;
  request.from = from;
  return request;
}

bool same(const core::UpstreamRequest& a, const core::UpstreamRequest& b) {
  return CallerId(a).is_same(CallerId(b));
}

}  // namespace

TEST_CASE("callers are one by principal, else by session, else by connection (behaviour.md 5)") {
  const std::string nobody(core::kAnonymous);
  CHECK(same(of("ann", "", "1"), of("ann", "", "2")));
  CHECK(same(of("ann", "s1", "1"), of("ann", "s2", "2")));
  CHECK_FALSE(same(of("ann", "", "1"), of("ben", "", "1")));
  CHECK_FALSE(same(of("ann", "", "1"), of(nobody, "", "1")));
  CHECK(same(of(nobody, "s1", "1"), of(nobody, "s1", "2")));
  CHECK_FALSE(same(of(nobody, "s1", "1"), of(nobody, "s2", "1")));
  CHECK(same(of(nobody, "", "1"), of("", "", "1")));
  CHECK_FALSE(same(of("", "", "1"), of("", "", "2")));
  CHECK_FALSE(same(of("", "", "1", false), of("", "", "1", false)));
  core::UpstreamRequest kept = of("", "", "1");
  kept.scope.bridged_session = "s1";
  CHECK(same(kept, of("", "s1", "2")));
}

TEST_CASE("lineward stdio has one caller") {
  core::UpstreamRequest one, other;
  auto from = std::make_shared<core::ClientRequest>();
  from->wire = mcp::Wire::stdio;
  one.from = other.from = from;
  other.scope.session = "s";
  CHECK(same(one, other));
}

TEST_CASE("callers whose calls ended may be meant until their time is over") {
  const core::UpstreamRequest a = of("ann", "", ""), b = of("ben", "", ""), c = of("cat", "", "");
  LateCallers late;
  CHECK(late.none_but(CallerId(a), milliseconds(0)));
  late.ended(CallerId(a), milliseconds(50), milliseconds(0));
  CHECK(late.none_but(CallerId(a), milliseconds(10)));
  CHECK_FALSE(late.none_but(CallerId(b), milliseconds(10)));
  late.ended(CallerId(b), milliseconds(70), milliseconds(20));
  CHECK_FALSE(late.none_but(CallerId(a), milliseconds(30)));
  CHECK_FALSE(late.none_but(CallerId(b), milliseconds(30)));
  CHECK(late.none_but(CallerId(b), milliseconds(50)));
  CHECK_FALSE(late.none_but(CallerId(c), milliseconds(69)));
  CHECK(late.any(milliseconds(69)));
  CHECK_FALSE(late.any(milliseconds(70)));
  CHECK(late.none_but(CallerId(c), milliseconds(70)));
  late.ended(CallerId(a), milliseconds(150), milliseconds(100));
  late.ended(CallerId(a), milliseconds(160), milliseconds(110));
  CHECK(late.none_but(CallerId(a), milliseconds(120)));
}

TEST_CASE("the caller that was kept outlives its request") {
  LateCallers late;
  {
    const core::UpstreamRequest gone = of(std::string(64, 'a'), "", "");
    late.ended(CallerId(gone), milliseconds(50), milliseconds(0));
  }
  CHECK(late.none_but(CallerId(of(std::string(64, 'a'), "", "")), milliseconds(1)));
}

TEST_CASE("a log line is for the newest call where all that may be meant are one caller's") {
  struct Call {};
  Call first, second;
  const core::UpstreamRequest a = of("ann", "", ""), b = of("ben", "", "");
  const LateCallers nobody;
  LineOwner<Call> lines;
  CHECK(lines.owner(nobody, milliseconds(0)) == nullptr);
  lines.saw(&first, CallerId(a));
  CHECK(lines.owner(nobody, milliseconds(0)) == &first);
  lines.saw(&second, CallerId(a));
  CHECK(lines.owner(nobody, milliseconds(0)) == &second);
  lines.saw(nullptr, CallerId(a));  // cancelled
  CHECK(lines.owner(nobody, milliseconds(0)) == &second);
  LateCallers late;
  late.ended(CallerId(b), milliseconds(50), milliseconds(0));
  CHECK(lines.owner(late, milliseconds(10)) == nullptr);
  CHECK(lines.owner(late, milliseconds(50)) == &second);
  lines.saw(nullptr, CallerId(b));
  CHECK(lines.owner(nobody, milliseconds(0)) == nullptr);
}

TEST_CASE("a caller that nothing tells apart has the line of its only call") {
  struct Call {};
  Call only;
  const core::UpstreamRequest unknown = of("", "", "1", false);
  LineOwner<Call> lines;
  lines.saw(&only, CallerId(unknown));
  CHECK(lines.owner(LateCallers(), milliseconds(0)) == &only);
  lines.saw(&only, CallerId(unknown));
  CHECK(lines.owner(LateCallers(), milliseconds(0)) == nullptr);
}
