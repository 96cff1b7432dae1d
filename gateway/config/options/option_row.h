// Builds rows of the option table from members of the configuration: row<&Config::listen, &Listen::path>(…).
// Only for config/options*.cc.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/duration.h"
#include "config/options/options.h"

namespace lineward::config::rows {

// Ranges of durations are in milliseconds, of sizes in bytes.
inline constexpr uint64_t kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
inline constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
inline constexpr uint64_t kMillion = 1'000'000;

// The error in a URL path; empty if it is valid.
inline std::string_view path_fault(const Value& value) {
  if (value.text.empty() || value.text[0] != '/') return "a path begins with /";
  if (value.text.find_first_of("?# \t\r\n") != std::string::npos) return "a path holds no space, ? or #";
  return {};
}

inline void assign(milliseconds& field, const Value& value) {
  field = value.duration;
}
inline void assign(bool& field, const Value& value) {
  field = value.flag;
}
inline void assign(uint32_t& field, const Value& value) {
  field = static_cast<uint32_t>(value.number);
}
inline void assign(uint64_t& field, const Value& value) {
  field = value.number;
}
inline void assign(std::string& field, const Value& value) {
  field = value.text;
}
inline void assign(std::vector<std::string>& field, const Value& value) {
  field = value.list;
}
inline void assign(std::vector<std::pair<std::string, std::string>>& field, const Value& value) {
  field = value.map;
}
inline void assign(InheritedEnv& field, const Value& value) {
  bool word = value.number != 0;
  field.mode = !word        ? InheritedEnv::Mode::usual
               : value.flag ? InheritedEnv::Mode::all
                            : InheritedEnv::Mode::minimal;
  field.names = value.list;
}
template <class Choice, std::enable_if_t<std::is_enum_v<Choice>, int> = 0>
void assign(Choice& field, const Value& value) {
  field = static_cast<Choice>(value.number);
}

inline std::string nth_choice(std::string_view choices, uint64_t index) {
  for (; index > 0; --index)
    choices.remove_prefix(choices.find('|') + 1);
  return std::string(choices.substr(0, choices.find('|')));
}

inline std::string spell(milliseconds field, Kind, std::string_view) {
  return format_duration(field);
}
inline std::string spell(bool field, Kind, std::string_view) {
  return field ? "true" : "false";
}
inline std::string spell(uint64_t field, Kind kind, std::string_view word) {
  if (kind == Kind::count && field == 0 && !word.empty()) return std::string(word);
  return kind == Kind::size ? format_size(field) : std::to_string(field);
}
inline std::string spell(uint32_t field, Kind kind, std::string_view none) {
  return spell(uint64_t{field}, kind, none);
}
inline std::string spell(const std::string& field, Kind, std::string_view) {
  return field;
}
inline std::string spell(const std::vector<std::string>& field, Kind, std::string_view) {
  return fmt::format("{}", fmt::join(field, ","));
}
inline std::string spell(const std::vector<std::pair<std::string, std::string>>& field, Kind,
                         std::string_view) {
  std::string names;
  for (const auto& [name, value] : field)
    names += (names.empty() ? "" : ",") + name;
  return names;
}
inline std::string spell(const InheritedEnv& field, Kind kind, std::string_view none) {
  if (field.mode == InheritedEnv::Mode::usual) return spell(field.names, kind, none);
  return field.mode == InheritedEnv::Mode::all ? "true" : "false";
}
template <class Choice, std::enable_if_t<std::is_enum_v<Choice>, int> = 0>
std::string spell(Choice field, Kind, std::string_view choices) {
  return nth_choice(choices, static_cast<uint64_t>(field));
}

// Field<&Config::listen, &Listen::path> locates an option: the chain of members from Config or Server.
template <class Owner, class Member>
Owner owner_of(Member Owner::*);

template <auto First, auto... Rest>
struct Field {
  using Root = decltype(owner_of(First));

  template <class AnyConfig, class AnyServer>
  static auto& in(AnyConfig& config, AnyServer& server) {
    if constexpr (std::is_same_v<Root, Server>) {
      return ((server.*First).*....*Rest);
    } else {
      return ((config.*First).*....*Rest);
    }
  }
  static void set(Config& config, Server& server, const Value& value) { assign(in(config, server), value); }
  static std::string show(const Config& config, const Server& server, Kind kind, std::string_view choices) {
    return spell(in(config, server), kind, choices);
  }
  static bool same(const Config& config, const Server& server, const Config& other_config,
                   const Server& other_server) {
    return in(config, server) == in(other_config, other_server);
  }
  static void copy(const Config& from, const Server& from_server, Config& config, Server& server) {
    in(config, server) = in(from, from_server);
  }
};

struct Range {
  uint64_t least = 0, most = 0;
};

using Check = std::string_view (*)(const Value&);

template <auto... Path>
Option row(std::string_view path, Kind kind, std::string_view fallback, Range range, std::string_view help,
           Check check = nullptr) {
  using F = Field<Path...>;
  return {path, kind, fallback, range.least, range.most, {}, help, check, F::set, F::show, F::same, F::copy};
}

// A number, or the word, which is stored as 0.
template <auto... Path>
Option count_or_word(std::string_view path, std::string_view word, std::string_view fallback, Range range,
                     std::string_view help) {
  using F = Field<Path...>;
  return {path, Kind::count, fallback, range.least, range.most, word,
          help, nullptr,     F::set,   F::show,     F::same,    F::copy};
}

template <auto... Path>
Option choice(std::string_view path, std::string_view choices, std::string_view fallback,
              std::string_view help) {
  using F = Field<Path...>;
  return {path, Kind::choice, fallback, 0, 0, choices, help, nullptr, F::set, F::show, F::same, F::copy};
}

}  // namespace lineward::config::rows
