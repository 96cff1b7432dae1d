#include "proxy/exchange/question_round.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using exchange::QuestionRound;
using mcp::parse;

namespace {

mcp::Message question(const std::string& id) {
  return parse(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"roots/list"})");
}

std::vector<std::string> keys(const QuestionRound& round) {
  std::vector<std::string> out;
  for (const auto& one : round.requests())
    out.push_back(one.key);
  return out;
}

struct FakeCall final : core::Call {
  std::vector<std::string> replies;
  mcp::Message message;
  void cancel(core::CancelCause) override {}
  bool live() const override { return true; }
  void reply(std::string text) override { replies.push_back(std::move(text)); }
  void hand_over(core::CallCallbacks&, core::Handover) override {}
  core::CallFacts call_facts() const override { return {&message}; }
  void retried(mcp::Message) override {}
};

}  // namespace

TEST_CASE("a key is the server's id where that is a string of its own, else one is made") {
  QuestionRound round;
  const std::string long_id = "\"" + std::string(300, 'x') + "\"";
  for (const std::string& id : std::initializer_list<std::string>{R"("name")", "1", R"("question-2")", "2",
                                                                  R"("n\u0061me")", R"("")", long_id})
    CHECK(round.add(question(id)));
  CHECK(keys(round) == std::vector<std::string>{R"("name")", R"("question-1")", R"("question-2")",
                                                R"("question-3")", R"("question-4")", R"("question-5")",
                                                R"("question-6")"});
}

TEST_CASE("answers go to the server under its own ids; what has none stays open") {
  QuestionRound round;
  FakeCall call;
  round.add(question("7"));
  round.add(question(R"("\u0061")"));
  round.add(question("1.0"));
  round.answer(R"({"a":{"n": 1.0},"question-1":{"x":[]},"nobody":{}})", call);
  CHECK(call.replies == std::vector<std::string>{R"({"jsonrpc":"2.0","id":"\u0061","result":{"n": 1.0}})",
                                                 R"({"jsonrpc":"2.0","id":7,"result":{"x":[]}})"});
  CHECK(keys(round) == std::vector<std::string>{R"("question-2")"});
  round.answer("", call);
  CHECK(round.requests().size() == 1);
}

TEST_CASE("a question that is taken back is gone") {
  QuestionRound round;
  round.add(question("1"));
  round.add(question(R"("1")"));
  auto cancelled = [](const std::string& id) {
    return parse(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}");
  };
  round.withdraw(cancelled("2"));
  CHECK(round.requests().size() == 2);
  round.withdraw(cancelled("1.0"));
  CHECK(keys(round) == std::vector<std::string>{R"("1")"});
  round.withdraw(cancelled(R"("1")"));
  CHECK(round.empty());
  CHECK(round.bytes() == 0);
}

TEST_CASE("a round asks anew where its client has not been shown all of it") {
  QuestionRound round;
  FakeCall call;
  CHECK_FALSE(round.has_new());
  round.add(question(R"("a")"));
  round.add(question(R"("b")"));
  CHECK(round.has_new());
  round.shown();
  CHECK_FALSE(round.has_new());
  round.answer(R"({"a":{}})", call);
  CHECK_FALSE(round.has_new());
  round.add(question(R"("c")"));
  CHECK(round.has_new());
  round.shown();
  CHECK_FALSE(round.has_new());
}

TEST_CASE("open questions are bounded") {
  QuestionRound round;
  for (size_t i = 0; i < exchange::kMaxOpenQuestions; ++i)
    CHECK(round.add(question(std::to_string(i))));
  CHECK_FALSE(round.add(question("1000")));
  CHECK(round.bytes() > 0);
}
