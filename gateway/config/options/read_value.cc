#include "config/options/read_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/duration.h"
#include "config/identity_words.h"
#include "config/options/names.h"
#include "foundation/log/sanitize.h"

namespace lineward::config {
namespace {

Unexpected<Misfit> misfit(std::string code, std::string message, std::string hint = {},
                          std::string note = {}) {
  return {Misfit{std::move(code), std::move(message), std::move(hint), std::move(note)}};
}

// The option's own check returns a sentence about the rule.
Unexpected<Misfit> broken_rule(const Option& option, std::string_view fault) {
  auto broken = misfit("bad-value", fmt::format("{}: {}", option.key(), fault));
  broken.error.shows_text = false;
  return broken;
}

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> words;
  while (!choices.empty()) {
    size_t bar = choices.find('|');
    words.push_back(choices.substr(0, bar));
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return words;
}

Result<Value, Misfit> read_duration(std::string_view text) {
  if (lacks_unit(text)) {
    return misfit("no-unit", fmt::format("{} has no unit", text), fmt::format("write {0}s or {0}ms", text),
                  "client files disagree: ms in Claude Code and Gemini CLI, seconds in Cline and Roo Code");
  }
  Result<milliseconds> duration = parse_duration(text);
  if (!duration) return misfit("wrong-type", fmt::format("'{}' is {}", clip(text), duration.error().text));
  Value value;
  value.duration = *duration;
  return value;
}

Result<Value, Misfit> read_size(std::string_view text) {
  Result<uint64_t> bytes = parse_size(text);
  if (!bytes) return misfit("wrong-type", fmt::format("'{}' is {}", clip(text), bytes.error().text));
  Value value;
  value.number = *bytes;
  return value;
}

Result<Value, Misfit> read_count(const Option& option, std::string_view text) {
  if (!option.choices.empty() && text == option.choices) return Value();
  bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  // A leading zero means octal to some readers and decimal to others.
  if (!digits || text.size() > 15 || (text.size() > 1 && text[0] == '0')) {
    const std::string_view word = option.choices;
    return misfit("wrong-type", fmt::format("'{}' is not a whole number{}", clip(text),
                                            word.empty() ? "" : fmt::format(" or {}", word)));
  }
  Value value;
  for (char c : text)
    value.number = value.number * 10 + static_cast<uint64_t>(c - '0');
  return value;
}

Result<Value, Misfit> read_flag(std::string_view text) {
  Value value;
  value.flag = text == "true";
  if (value.flag || text == "false") return value;
  std::string word = normalised(text);
  bool yes = word == "yes" || word == "on" || word == "1" || word == "true" || word == "y";
  bool no = word == "no" || word == "off" || word == "0" || word == "false" || word == "n";
  return misfit("wrong-type", fmt::format("'{}' is neither true nor false", clip(text)),
                yes  ? "write true"
                : no ? "write false"
                     : "");
}

Result<Value, Misfit> read_choice(const Option& option, std::string_view text) {
  std::vector<std::string_view> words = split_choices(option.choices);
  Value value;
  for (; value.number < words.size(); ++value.number) {
    if (words[value.number] == text) return value;
  }
  std::string_view likely = nearest(text, words);
  // "warning" is too far from "warn" by edit distance, but it has the same beginning.
  for (std::string_view word : words) {
    if (likely.empty() && text.substr(0, word.size()) == word) likely = word;
  }
  return misfit("unknown-choice", fmt::format("'{}' is not one of {}", clip(text), fmt::join(words, ", ")),
                likely.empty() ? "" : fmt::format("did you mean '{}'?", likely));
}

}  // namespace

std::string spell_bound(Kind kind, uint64_t bound) {
  if (kind == Kind::duration) return format_duration(milliseconds(bound));
  return kind == Kind::size ? format_size(bound) : std::to_string(bound);
}

std::string clip(std::string_view text) {
  constexpr size_t kMaxLength = 60;
  return sanitize(text, kMaxLength);
}

Result<Value, Misfit> read_value(const Option& option, std::string_view text) {
  switch (option.kind) {
    case Kind::duration: return read_duration(text);
    case Kind::size: return read_size(text);
    case Kind::count: return read_count(option, text);
    case Kind::flag: return read_flag(text);
    case Kind::names: {
      Result<Value, Misfit> word = read_flag(text);
      if (!word) word.error().hint = "write true, false, or [NAME, OTHER]";
      if (word) word->number = 1;  // marks a word, as opposed to an empty list
      return word;
    }
    case Kind::choice: return read_choice(option, text);
    case Kind::text: break;
    case Kind::list:
    case Kind::map: return misfit("wrong-type", fmt::format("this must be a {}", kind_name(option.kind)));
  }
  Value value;
  value.text = text;
  return value;
}

std::string_view headers_fault(const Value& headers) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  for (const auto& [name, value] : headers.map) {
    for (char c : name) {
      bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!word && kMarks.find(c) == std::string_view::npos)
        return "a header's name is made of letters, digits and -";
    }
    if (name.empty()) return "a header has no name";
    for (char c : value) {
      const bool mark = c == kWordBegin || c == kWordEnd;
      if ((static_cast<unsigned char>(c) < 0x20 && c != '\t' && !mark) || c == 0x7F)
        return "a header's value holds a line break or another control character";
    }
  }
  return {};
}

Result<Done, Misfit> check_value(const Option& option, const Value& value, std::string_view text) {
  const bool is_word = option.kind == Kind::count && !option.choices.empty() && text == option.choices;
  bool ranged = !is_word && (option.least != 0 || option.most != 0);
  uint64_t size =
      option.kind == Kind::duration ? static_cast<uint64_t>(value.duration.count()) : value.number;
  if (ranged && (size < option.least || size > option.most)) {
    return misfit("out-of-range", fmt::format("{} is out of range for {}", clip(text), option.key()),
                  fmt::format("from {} to {}", spell_bound(option.kind, option.least),
                              spell_bound(option.kind, option.most)));
  }
  std::string_view fault = option.check == nullptr ? std::string_view() : option.check(value);
  if (!fault.empty()) return broken_rule(option, fault);
  return Done{};
}

}  // namespace lineward::config
