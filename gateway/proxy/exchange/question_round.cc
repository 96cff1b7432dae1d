#include "proxy/exchange/question_round.h"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/json/json_member.h"

namespace lineward::exchange {
namespace {

using mcp::Field;

constexpr size_t kMaxKey = 256;

}  // namespace

bool QuestionRound::has_key(std::string_view key) const {
  return std::any_of(open_.begin(), open_.end(), [&](const Question& one) { return one.key == key; });
}

bool QuestionRound::add(const mcp::Message& question) {
  if (open_.size() >= kMaxOpenQuestions) return false;
  std::string key = question.text(Field::id);
  bool usable = question.is_string(Field::id) && !key.empty() && key.size() <= kMaxKey;
  if (!usable || has_key(key)) {
    do {
      key = fmt::format("question-{}", ++made_keys_);
    } while (has_key(key));
  }
  open_.push_back({std::string(question.raw(Field::id)), mcp::canonical_id(question.raw(Field::id)),
                   std::move(key), mcp::input_request(question)});
  return true;
}

void QuestionRound::withdraw(const mcp::Message& cancelled) {
  if (!cancelled.has(Field::params_request_id)) return;
  std::string wanted = mcp::canonical_id(cancelled.raw(Field::params_request_id));
  std::erase_if(open_, [&](const Question& one) { return one.canonical == wanted; });
}

void QuestionRound::answer(std::string_view input_responses, core::Call& call) {
  json::for_each_member(input_responses, [&](const std::string& key, std::string_view response) {
    auto found =
        std::find_if(open_.begin(), open_.end(), [&](const Question& one) { return one.key == key; });
    if (found == open_.end()) return;
    call.reply(mcp::question_answer(found->server_id, response));
    open_.erase(found);
  });
}

size_t QuestionRound::bytes() const {
  size_t sum = 0;
  for (const Question& one : open_)
    sum += one.server_id.size() + one.key.size() + one.request.size();
  return sum;
}

std::vector<mcp::InputQuestion> QuestionRound::requests() const {
  std::vector<mcp::InputQuestion> out;
  for (const Question& one : open_)
    out.push_back({json::quote(one.key), one.request});
  return out;
}

}  // namespace lineward::exchange
