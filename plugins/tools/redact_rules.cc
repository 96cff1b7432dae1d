#include "plugins/tools/redact_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foundation/base/glob.h"
#include "foundation/base/is_among.h"
#include "foundation/json/json_scan.h"

namespace lineward::plugins {
namespace {

constexpr size_t kMaxPatterns = 64;
constexpr size_t kMaxPattern = 1024;
constexpr size_t kMaxPointer = 1024;
constexpr size_t kMaxSegments = 32;

// The kind of a value for patterns: text to search, a name, a schema, or a map of names to schemas.
enum class Is : uint8_t { text, name, schema, schemas };

// The pointers and places that match the walk's position so far; their depth is the walk's.
struct Alive {
  std::vector<const Pointer*> pointers;
  std::vector<const Place*> places;
  Is is = Is::text;

  bool asks_for_keys() const { return !pointers.empty() || !places.empty() || is == Is::schema; }
};

// An open object or array of the walk.
struct Level {
  bool array = false;
  size_t index = 0;
  Alive alive;
};

// The kind of a schema's member, by its key. An array there holds schemas or names.
Is in_schema(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kTexts{"title",   "description", "$comment",
                                                          "default", "examples",    "enumNames"};
  static constexpr std::array<std::string_view, 5> kMaps{"properties", "patternProperties", "$defs",
                                                         "definitions", "dependentSchemas"};
  if (is_among(kTexts, key)) return Is::text;
  return is_among(kMaps, key) ? Is::schemas : Is::schema;
}

class Walk {
 public:
  Walk(std::string_view text, json::Span value) : text_(text), at_(value.begin), end_(value.end) {}

  // Calls replace(span) for each value that a pointer names, string(span) for every other string that is
  // text.
  template <class Replace, class String>
  void run(const std::vector<Pointer>& pointers, const std::vector<Place>& places, Replace&& replace,
           String&& string) {
    Alive alive;
    for (const Pointer& pointer : pointers) {
      if (pointer.empty()) return replace(json::Span{at_, end_});
      alive.pointers.push_back(&pointer);
    }
    for (const Place& place : places)
      alive.places.push_back(&place);
    std::vector<Level> levels;
    value(std::move(alive), levels, string);
    while (!levels.empty()) {
      blanks();
      if (at_ >= end_) return;
      Level& level = levels.back();
      char c = text_[at_];
      if (c == ',') {
        ++at_;
        ++level.index;
        continue;
      }
      if (c == '}' || c == ']') {
        ++at_;
        levels.pop_back();
        continue;
      }
      size_t depth = levels.size() - 1;
      Alive next;
      const std::string name = level.array ? std::to_string(level.index) : key(!level.alive.asks_for_keys());
      const bool named = step(name, level, depth, next);
      blanks();
      if (named) {
        uint32_t begin = at_;
        skip();
        replace(json::Span{begin, at_});
      } else {
        value(std::move(next), levels, string);
      }
    }
  }

 private:
  // True: a pointer ends here.
  static bool step(const std::string& name, const Level& level, size_t depth, Alive& next) {
    for (const Pointer* one : level.alive.pointers) {
      const std::string& segment = (*one)[depth];
      if (segment != "*" && segment != name) continue;
      if (one->size() == depth + 1) return true;
      next.pointers.push_back(one);
    }
    next.is = level.alive.is;
    if (next.is == Is::schemas)
      next.is = Is::schema;
    else if (next.is == Is::schema && !level.array)
      next.is = in_schema(name);
    for (const Place* one : level.alive.places) {
      const std::string& segment = one->at[depth];
      if ((segment == "[]") != level.array || (!level.array && !glob_match(segment, name))) continue;
      if (one->at.size() > depth + 1) {
        next.places.push_back(one);
      } else {
        next.is = one->holds == Holds::schema ? Is::schema : Is::name;
        next.places.clear();
        break;
      }
    }
    return false;
  }
  std::string key(bool unwanted) {
    json::Span inner = string_at();
    blanks();
    ++at_;  // the colon
    return unwanted ? std::string() : json::unescape(inner.in(text_));
  }
  template <class String>
  void value(Alive alive, std::vector<Level>& levels, String&& string) {
    char c = text_[at_];
    if (c == '{' || c == '[') {
      ++at_;
      levels.push_back({c == '[', 0, std::move(alive)});
    } else if (c == '"') {
      uint32_t begin = at_;
      string_at();
      if (alive.is == Is::text) string(json::Span{begin, at_});
    } else {
      while (at_ < end_ && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
        ++at_;
    }
  }
  // Skips a whole value.
  void skip() {
    size_t depth = 0;
    do {
      blanks();
      if (at_ >= end_) return;
      char c = text_[at_];
      if (c == '"') {
        string_at();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else {
        while (at_ < end_ && std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos)
          ++at_;
      }
    } while (depth > 0);
  }
  // The range between the quotes; the walk is past them.
  json::Span string_at() {
    uint32_t begin = ++at_;
    while (at_ < end_ && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? 2 : 1;
    return {begin, std::min(at_++, end_)};
  }
  void blanks() {
    while (at_ < end_ && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  std::string_view text_;
  uint32_t at_, end_;
};

}  // namespace

Result<Pointer> parse_pointer(std::string_view text) {
  if (text.empty() || text.front() != '/')
    return fail(fmt::format("'{}' is no JSON pointer: it begins with /", text.substr(0, 60)));
  if (text.size() > kMaxPointer) return fail("a JSON pointer has at most 1024 bytes");
  Pointer out;
  std::string segment;
  for (size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      out.push_back(std::move(segment));
      segment.clear();
    } else if (text[i] == '~') {
      char next = i + 1 < text.size() ? text[++i] : '\0';
      if (next != '0' && next != '1') return fail(fmt::format("'{}': ~ is written ~0, and / ~1", text));
      segment += next == '0' ? '~' : '/';
    } else {
      segment += text[i];
    }
  }
  if (out.size() > kMaxSegments) return fail("a JSON pointer has at most 32 segments");
  return out;
}

Result<RedactRules> RedactRules::make(const std::vector<std::string>& patterns, std::string replacement) {
  RedactRules rules;
  if (patterns.size() > kMaxPatterns) return fail("there are at most 64 patterns");
  for (const std::string& pattern : patterns) {
    std::string shown = pattern.substr(0, 60);
    if (pattern.size() > kMaxPattern) return fail("a pattern has at most 1024 bytes: " + shown);
    RE2::Options options;
    options.set_log_errors(false);
    auto made = std::make_shared<RE2>(pattern, options);
    if (!made->ok()) return fail(fmt::format("'{}' is no pattern of RE2: {}", shown, made->error()));
    if (RE2::PartialMatch("", *made))
      return fail(fmt::format("the pattern '{}' matches the empty text, and so everything", shown));
    rules.patterns_.push_back(std::move(made));
  }
  for (char c : replacement)
    rules.rewrite_ += c == '\\' ? "\\\\" : std::string(1, c);
  rules.quoted_ = json::quote(replacement);
  rules.replacement_ = std::move(replacement);
  return rules;
}

bool RedactRules::matches(std::string& text) const {
  bool any = false;
  for (const auto& pattern : patterns_) {
    if (RE2::PartialMatch(text, *pattern)) any = RE2::GlobalReplace(&text, *pattern, rewrite_) > 0 || any;
  }
  return any;
}

uint64_t RedactRules::find(std::string_view text, json::Span value, const std::vector<Pointer>& pointers,
                           json::Splice& splice, const std::vector<Place>& names) const {
  uint64_t count = 0;
  if (!value || (pointers.empty() && patterns_.empty())) return 0;
  Walk(text, value)
      .run(
          pointers, patterns_.empty() ? std::vector<Place>() : names,
          [&](json::Span whole) {
            splice.replace(whole, quoted_);
            ++count;
          },
          [&](json::Span string) {
            if (patterns_.empty()) return;
            std::string_view inner = text.substr(string.begin + 1, string.size() - 2);
            std::string plain =
                inner.find('\\') == std::string_view::npos ? std::string(inner) : json::unescape(inner);
            if (!matches(plain)) return;
            splice.replace(string, json::quote(plain));
            ++count;
          });
  return count;
}

std::string RedactRules::plain(std::string_view text, uint64_t* count) const {
  std::string out(text);
  if (matches(out) && count != nullptr) ++*count;
  return out;
}

}  // namespace lineward::plugins
