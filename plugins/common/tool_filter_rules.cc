#include "plugins/common/tool_filter_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/claim_rules.h"
#include "foundation/base/glob.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"

namespace lineward::plugins {
namespace {

bool matches(const std::vector<std::string>& globs, std::string_view name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

// RFC 6749, section 3.3: it can stand in a challenge unescaped.
bool is_scope(std::string_view text) {
  return !text.empty() && text.size() <= 256 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\';
  });
}

// The name of an element; false if it has none or several.
bool name_of(std::string_view element, std::string_view key, std::string& name) {
  auto values = values_named(element, key);
  if (values.size() != 1 || values[0].front() != '"') return false;
  name = json::string_value(values[0]);
  return true;
}

}  // namespace

std::vector<std::string_view> values_named(std::string_view object, std::string_view name) {
  std::vector<std::string_view> out;
  json::Cursor cursor(object, json::kDepthCeiling);
  if (!cursor.at_object() || !cursor.enter_object()) return out;
  json::Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    bool found = json::key_equals(key.in(object), escaped, name);
    if (!cursor.skip(value)) break;
    if (found) out.push_back(value.in(object));
  }
  return out;
}

bool NameRule::allows(std::string_view name) const {
  return !denies(name) && (allow.empty() || matches(allow, name));
}

bool NameRule::denies(std::string_view name) const {
  return matches(deny, name);
}

Result<ScopeRules> ScopeRules::make(const std::vector<std::pair<std::string, std::string>>& map) {
  ScopeRules out;
  for (const auto& [glob, words] : map) {
    Rule rule{glob, {}};
    std::string_view rest = words;
    while (!rest.empty()) {
      size_t blank = rest.find(' ');
      std::string_view word = rest.substr(0, blank);
      rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
      if (word.empty()) continue;
      if (!is_scope(word))
        return fail("scopes: a scope is made of printable ASCII without blanks, quotes and backslashes");
      if (const std::string_view fault =
              config::is_claim_rule(word) ? config::rule_fault(word) : std::string_view();
          !fault.empty())
        return fail(fmt::format("scopes: {}", fault));
      rule.scopes.emplace_back(word);
    }
    if (rule.scopes.empty()) return fail(fmt::format("scopes: '{}' names no scope", glob));
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

std::vector<std::string> ScopeRules::needed(std::string_view tool) const {
  std::vector<std::string> out;
  for (const Rule& rule : rules_) {
    if (!glob_match(rule.glob, tool)) continue;
    for (const std::string& scope : rule.scopes) {
      if (std::find(out.begin(), out.end(), scope) == out.end()) out.push_back(scope);
    }
  }
  return out;
}

bool ScopeRules::allow(std::string_view tool, const core::Caller* caller) const {
  for (const Rule& rule : rules_) {
    if (!glob_match(rule.glob, tool)) continue;
    for (const std::string& scope : rule.scopes) {
      if (caller == nullptr || !caller->may(scope)) return false;
    }
  }
  return true;
}

std::vector<std::string> ScopeRules::all() const {
  std::vector<std::string> out;
  for (const Rule& rule : rules_) {
    for (const std::string& scope : rule.scopes) {
      if (std::find(out.begin(), out.end(), scope) == out.end()) out.push_back(scope);
    }
  }
  return out;
}

bool ScopeRules::allow_all(const core::Caller* caller) const {
  const std::vector<std::string> needed = all();
  return std::all_of(needed.begin(), needed.end(),
                     [&](const std::string& scope) { return caller != nullptr && caller->may(scope); });
}

size_t filter_list(mcp::Message& message, std::string_view list, std::string_view name, const Keep& keep) {
  size_t hidden = 0;
  std::set<std::string> seen;  // ordered: a server could choose names that collide in a hash table
  json::Splice splice = message.splice();
  for (std::string_view elements : values_named(message.raw(mcp::Field::result), list)) {
    json::Cursor cursor(elements, json::kDepthCeiling);
    if (!cursor.at_array() || !cursor.enter_array()) continue;
    std::string kept = "[";
    size_t before = hidden;
    json::Span at;
    while (cursor.next_element() && cursor.skip(at)) {
      std::string_view element = at.in(elements);
      std::string called;
      if (!name_of(element, name, called) || !seen.insert(called).second || !keep(called, element)) {
        ++hidden;
        continue;
      }
      if (kept.size() > 1) kept += ',';
      kept += element;
    }
    if (hidden == before) continue;
    auto begin = static_cast<uint32_t>(elements.data() - message.bytes().data());
    splice.replace({begin, begin + static_cast<uint32_t>(elements.size())}, kept + ']');
  }
  if (hidden == 0) return 0;
  auto changed = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (!changed) {  // should not happen; an empty list is safer than an unfiltered one
    changed = mcp::Message::parse(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{}:[]}}}})",
                                              message.raw(mcp::Field::id), json::quote(list)));
  }
  if (changed) message = std::move(*changed);
  return hidden;
}

}  // namespace lineward::plugins
