#include "plugins/hook/hook_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "foundation/json/json_member.h"
#include "foundation/log/excerpt.h"
#include "proxy/plugin/header_rules.h"

namespace lineward::plugins {
namespace {

using mcp::EndReason;

constexpr size_t kMaxText = 300;
constexpr size_t kMaxHeaders = 16;

bool is_object(std::string_view raw) {
  return !raw.empty() && raw.front() == '{';
}

std::optional<int64_t> number(std::optional<std::string_view> raw) {
  int64_t value = 0;
  if (!raw) return std::nullopt;
  auto [end, error] = std::from_chars(raw->data(), raw->data() + raw->size(), value);
  if (error != std::errc() || end != raw->data() + raw->size()) return std::nullopt;
  return value;
}

std::string sentence(std::string_view said) {
  std::string text = log::Excerpt(said, kMaxText).string();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::optional<EndReason> reason_of(std::string_view name) {
  const mcp::EndReasonRow* row = mcp::end_reason(name);
  return row != nullptr && mcp::has(row->reason, mcp::kByPlugin) ? std::optional(row->reason) : std::nullopt;
}

}  // namespace

Result<HookAnswer> read_hook_answer(std::string_view text) {
  HookAnswer answer;
  std::string verdict = json::string_value(json::member(text, "verdict"));
  if (verdict == "proceed") {
    answer.kind = HookAnswer::Kind::proceed;
  } else if (verdict == "refuse") {
    answer.kind = HookAnswer::Kind::refuse;
  } else if (verdict == "answer") {
    answer.kind = HookAnswer::Kind::answer;
  } else if (verdict == "drop") {
    answer.kind = HookAnswer::Kind::drop;
  } else {
    return fail(verdict.empty() ? "gave no verdict" : "gave a verdict that there is not");
  }
  auto message = json::member(text, "message");
  if (message && *message != "null" && answer.kind == HookAnswer::Kind::proceed) {
    auto parsed = mcp::Message::parse(std::string(*message), json::kDepthCeiling);
    if (!parsed) return fail("put something in a message's place that is none");
    answer.message = std::move(*parsed);
  }
  if (answer.kind == HookAnswer::Kind::answer) {
    auto result = json::member(text, "result");
    if (!result && message) result = json::member(*message, "result");
    if (!result || !is_object(*result)) return fail("answered without a result that is an object");
    answer.result = *result;
  }
  if (answer.kind == HookAnswer::Kind::refuse) {
    std::string_view error = json::member(text, "error").value_or("{}");
    answer.refusal.text = sentence(json::string_value(json::member(error, "message")));
    if (answer.refusal.text.empty()) answer.refusal.text = "refused";
    auto code = number(json::member(error, "code"));
    if (code && *code >= INT32_MIN && *code <= INT32_MAX) answer.refusal.code = static_cast<int>(*code);
    std::string reason = json::string_value(json::member(text, "reason"));
    if (!reason.empty()) {
      auto known = reason_of(reason);
      if (!known) return fail("refused for a reason that there is not");
      answer.refusal.reason = *known;
    }
    if (auto after = number(json::member(text, "retryAfterMs")); after && *after >= 0)
      answer.refusal.retry_after_ms = std::min<int64_t>(*after, 86400000);
  }
  json::for_each_member(
      json::member(text, "headers").value_or("{}"), [&](const std::string& name, std::string_view raw) {
        std::string value = json::string_value(raw);
        if (answer.headers.size() < kMaxHeaders && plugin::may_set_upstream_header(name, value))
          answer.headers.emplace_back(name, std::move(value));
      });
  return answer;
}

}  // namespace lineward::plugins
