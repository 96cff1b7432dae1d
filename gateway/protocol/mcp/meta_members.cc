#include "protocol/mcp/meta_members.h"

#include <algorithm>

#include "foundation/json/json_case.h"
#include "foundation/json/json_scan.h"
#include "foundation/json/json_splice.h"

namespace lineward::mcp {
namespace {

bool is_one_of(const MetaMembers& members, std::string_view key) {
  return std::any_of(members.begin(), members.end(), [&](const auto& one) {
    return one.first == key || json::differs_in_case_alone(key, one.first);
  });
}

// The members that the client has sent itself.
void remove_own(json::Splice& splice, const Message& message, const MetaMembers& members) {
  const json::Span meta = message.at(Field::params_meta);
  const std::string_view text = message.raw(Field::params_meta);
  json::Cursor cursor(text, json::kWrappedDepth);
  if (!cursor.at_object() || !cursor.enter_object()) return;
  json::Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    const json::Span name = key;
    const std::string decoded = escaped ? json::unescape(name.in(text)) : std::string(name.in(text));
    if (!cursor.skip(value)) return;
    if (!is_one_of(members, decoded)) continue;
    splice.remove_member(meta, {meta.begin + name.begin, meta.begin + name.end},
                         {meta.begin + value.begin, meta.begin + value.end});
  }
}

}  // namespace

json::Text with_meta_members(const Message& message, const MetaMembers& members) {
  json::Splice splice = message.splice();
  const bool has_object = message.is_object(Field::params_meta);
  if (has_object) remove_own(splice, message, members);
  std::string added;
  for (const auto& [name, text] : members) {
    if (text.empty()) continue;
    const std::string value = json::quote(text);
    if (has_object) {
      splice.add_member(message.at(Field::params_meta), name, value);
    } else {
      added += (added.empty() ? "" : ",") + json::quote(name) + ":" + value;
    }
  }
  if (!added.empty()) {
    const std::string meta = "{" + added + "}";
    if (message.has(Field::params_meta)) {
      splice.replace(message.at(Field::params_meta), meta);
    } else if (message.is_object(Field::params)) {
      splice.add_member(message.at(Field::params), "_meta", meta);
    } else if (message.has(Field::params)) {  // null
      splice.replace(message.at(Field::params), R"({"_meta":)" + meta + "}");
    } else {
      splice.insert(message.at(Field::method).end, R"(,"params":{"_meta":)" + meta + "}");
    }
  }
  if (splice.empty()) return {message.bytes(), message.outline()};
  return splice.apply_outlined();
}

}  // namespace lineward::mcp
