#include "proxy/client/replica/passed_events.h"

#include <catch2/catch.hpp>

using lineward::client::PassedEvents;

namespace {

const std::string kProgress =
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n";
const std::string kQuestion = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n";
const std::string kAnswer = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n";

bool wants_answer_after(const std::string& stream, size_t cut) {
  PassedEvents events("7");
  events.passed(std::string_view(stream).substr(0, cut));
  events.passed(std::string_view(stream).substr(cut));
  return events.wants_answer();
}

}  // namespace

TEST_CASE(
    "a stream that was passed on takes an answer of our own between two events, wherever they were cut") {
  CHECK(PassedEvents("7").wants_answer());
  for (const std::string& stream : {kProgress, kProgress + ": keep-alive\n\n", kQuestion + kProgress}) {
    for (size_t cut = 0; cut <= stream.size(); ++cut) {
      CHECK(wants_answer_after(stream, cut));
      if (cut == 0) continue;
      PassedEvents events("7");
      events.passed(stream.substr(0, cut));
      const bool between = stream.substr(0, cut).size() >= 2 && stream.substr(cut - 2, 2) == "\n\n";
      CHECK(events.wants_answer() == between);
    }
  }
}

TEST_CASE("a stream that was passed on takes none behind the answer, one with ids, or an unreadable one") {
  for (const std::string& stream :
       {kAnswer, kProgress + kAnswer + ": keep-alive\n\n", "id: 3-1\n" + kProgress, std::string("id: 3\n\n"),
        std::string("data: what 7\n\n"), "data: {\"a\":\"" + std::string(70'000, 'x') + "\"}\n\n"}) {
    for (size_t cut : {size_t{0}, stream.size() / 2, stream.size() - 1})
      CHECK_FALSE(wants_answer_after(stream, cut));
  }
  // An answer to something else says nothing of this call.
  PassedEvents other("\"7\"");
  other.passed(kAnswer);
  CHECK(other.wants_answer());
}

TEST_CASE("of a stream that was passed on no more is kept than an event may have") {
  PassedEvents events("7");
  const std::string piece(1000, 'x');
  events.passed("data: ");
  for (int i = 0; i < 1000; ++i) {
    events.passed(piece);
    REQUIRE(events.kept() <= 66 * 1024);
  }
  CHECK_FALSE(events.wants_answer());
}
