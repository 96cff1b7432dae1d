#include "foundation/json/json_splice.h"

#include <algorithm>
#include <tuple>

#include "foundation/base/check.h"
#include "foundation/base/string_pool.h"

namespace lineward::json {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// The offset of the first token at or after `at`.
uint32_t token_from(std::string_view text, uint32_t at) {
  while (at < text.size() && is_space(text[at]))
    ++at;
  return at;
}

// The offset of the last byte of the token that ends before `at`.
uint32_t token_before(std::string_view text, uint32_t at) {
  LW_CHECK(at > 0);
  --at;
  while (at > 0 && is_space(text[at]))
    --at;
  return at;
}

}  // namespace

void Splice::add_member(Span object, std::string_view key, std::string_view value) {
  std::string member = quote(key);
  member += ':';
  member += value;
  additions_.push_back({object, std::move(member)});
}

void Splice::remove_member(Span object, Span key, Span value) {
  removals_.push_back({object, key, value});
}

// Turns additions and removals into edits, object by object.
void Splice::resolve_members() {
  if (removals_.empty() && additions_.empty()) return;
  const auto by_place = [](const Removal& a, const Removal& b) {
    return std::tie(a.object.begin, a.key.begin) < std::tie(b.object.begin, b.key.begin);
  };
  const auto same = [](const Removal& a, const Removal& b) { return a.key.begin == b.key.begin; };
  std::sort(removals_.begin(), removals_.end(), by_place);
  for (const Removal& r : removals_) {
    LW_CHECK(r.object.begin < r.key.begin && r.key.end < r.value.begin && r.value.begin < r.value.end);
    LW_CHECK(r.value.end < r.object.end && r.object.end <= text_.size());
  }
  removals_.erase(std::unique(removals_.begin(), removals_.end(), same), removals_.end());

  std::vector<uint32_t> emptied;  // begins of objects that lose all their members
  for (size_t i = 0; i < removals_.size();) {
    // Adjacent members are removed as one run: they share the commas between them.
    const Removal& first = removals_[i];
    uint32_t begin = first.key.begin - 1;
    uint32_t end = first.value.end;
    uint32_t next = token_from(text_, end);
    for (++i; i < removals_.size() && text_[next] == ','; ++i) {
      if (token_from(text_, next + 1) != removals_[i].key.begin - 1) break;
      end = removals_[i].value.end;
      next = token_from(text_, end);
    }
    if (text_[next] == ',') {
      end = token_from(text_, next + 1);
    } else {
      const uint32_t before = token_before(text_, begin);
      if (text_[before] == ',') {
        begin = before;
      } else {
        emptied.push_back(before);
      }
    }
    edits_.push_back({begin, end, {}});
  }
  removals_.clear();

  // A single insert per object, so that only its last new member needs to know whether others follow.
  const auto by_object = [](const Addition& a, const Addition& b) { return a.object.begin < b.object.begin; };
  std::stable_sort(additions_.begin(), additions_.end(), by_object);
  for (size_t i = 0; i < additions_.size();) {
    const uint32_t object = additions_[i].object.begin;
    LW_CHECK(object < text_.size() && text_[object] == '{');
    std::string members;
    for (; i < additions_.size() && additions_[i].object.begin == object; ++i) {
      if (!members.empty()) members += ',';
      members += additions_[i].member;
    }
    const bool none_left = text_[token_from(text_, object + 1)] == '}' ||
                           std::find(emptied.begin(), emptied.end(), object) != emptied.end();
    if (!none_left) members += ',';
    insert(object + 1, std::move(members));
  }
  additions_.clear();
}

void Splice::order() {
  resolve_members();
  // Inserts come before a replacement at the same place, and keep their order.
  const auto before = [](const Edit& a, const Edit& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  };
  if (!std::is_sorted(edits_.begin(), edits_.end(), before)) {
    std::stable_sort(edits_.begin(), edits_.end(), before);
  }
}

std::string Splice::apply() {
  order();
  return joined();
}

Text Splice::apply_outlined() {
  order();
  OutlinePtr outline;
  if (outline_) outline = std::make_shared<const Outline>(outline_->after(edits_));
  std::string bytes = joined();
  return {std::move(bytes), std::move(outline)};
}

std::string Splice::joined() {
  size_t grown = 0;
  for (const Edit& edit : edits_)
    grown += edit.text.size();
  std::string out;
  out.reserve(text_.size() + grown + 1);  // a line end is often appended next
  uint32_t at = 0;
  for (const Edit& edit : edits_) {
    LW_CHECK(at <= edit.begin && edit.begin <= edit.end && edit.end <= text_.size());  // no overlap
    out += text_.substr(at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out += text_.substr(at);
  edits_.clear();
  return out;
}

std::string replaced(std::string_view text, Span range, std::string_view with) {
  LW_CHECK(range.begin <= range.end && range.end <= text.size());
  std::string out = StringPool::take(text.size() + with.size() + 1);  // a line end is often appended next
  out.append(text.data(), range.begin);
  out += with;
  out.append(text.data() + range.end, text.size() - range.end);
  return out;
}

void flatten_lines(std::string& text) {
  for (const char line_end : {'\n', '\r'}) {
    for (size_t at = text.find(line_end); at != std::string::npos; at = text.find(line_end, at + 1)) {
      text[at] = ' ';
    }
  }
}

std::string compact(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || (c != ' ' && c != '\t' && c != '\n' && c != '\r')) out += c;
  }
  return out;
}

}  // namespace lineward::json
