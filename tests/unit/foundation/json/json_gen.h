// Random JSON text for property tests: odd but legal spellings, always the same for one seed.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/json/json_scan.h"

namespace lineward::test {

class JsonGen {
 public:
  explicit JsonGen(uint32_t seed) : random_(seed) {}

  bool pretty = false;  // white space between tokens

  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool chance(uint32_t one_in) { return below(one_in) == 0; }

  std::string space() {
    static constexpr const char* kSpaces[] = {"", " ", "\n", "\r\n  ", "\t", "    "};
    return pretty ? kSpaces[below(6)] : "";
  }

  std::string number() {
    static constexpr const char* kNumbers[] = {"0",
                                               "-0",
                                               "1",
                                               "1.0",
                                               "-1.50",
                                               "1e400",
                                               "1E+2",
                                               "-0e-9",
                                               "10.0",
                                               "2e308",
                                               "0.1",
                                               "1e-400",
                                               "-12345",
                                               "9007199254740993",
                                               "123456789012345678901234567890"};
    return kNumbers[below(std::size(kNumbers))];
  }

  std::string string() {
    static constexpr const char* kPieces[] = {"a",
                                              "some words that are longer than sixteen bytes",
                                              "\\n",
                                              "\\\"",
                                              "\\\\",
                                              "\\/",
                                              "\\u0041",
                                              "\\u0000",
                                              "\\ud800",
                                              "\\uDFFF",
                                              "\\ud83d\\ude00",
                                              "\\uFfFd",
                                              "é",
                                              "\xE2\x82\xAC",
                                              "\xF0\x9F\x98\x80",
                                              "\xE2\x80\xA8",
                                              "\x7F",
                                              "{}[],:",
                                              "\xF4\x8F\xBF\xBF",
                                              "\xED\x9F\xBF"};
    std::string out = "\"";
    for (uint32_t n = below(5); n > 0; --n)
      out += kPieces[below(std::size(kPieces))];
    return out + '"';
  }

  std::string key() {
    static constexpr const char* kKeys[] = {"\"x\"",       "\"y\"",         "\"\"",      "\"Methods\"",
                                            "\"\\u0078\"", "\"id\\u0000\"", "\"_metas\""};
    return chance(4) ? string() : kKeys[below(std::size(kKeys))];
  }

  std::string value(int depth) {
    switch (below(depth > 0 ? 8 : 5)) {
      case 0: return "true";
      case 1: return "null";
      case 2: return "false";
      case 3: return number();
      case 4: return string();
      case 5: return array(depth);
      default: return object(depth);
    }
  }

  std::string array(int depth) {
    std::string out = "[" + space();
    for (uint32_t i = 0, n = below(4); i < n; ++i) {
      if (i > 0) out += "," + space();
      out += value(depth - 1) + space();
    }
    return out + "]";
  }

  using Members = std::vector<std::pair<std::string, std::string>>;  // key with its quotes, value

  std::string object(const Members& members) {
    std::string out = "{" + space();
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += "," + space();
      out += members[i].first + space() + ":" + space() + members[i].second + space();
    }
    return out + "}";
  }

  std::string object(int depth) {
    Members members;
    for (uint32_t n = below(4); n > 0; --n)
      members.emplace_back(key(), value(depth - 1));
    return object(members);
  }

  // Makes one to three small damages.
  std::string mutate(std::string text) {
    static constexpr std::string_view kBytes =
        "\"\\{}[]:,0123456789.eE+-tfnu \n\t\x00\x1F\x7F\x80\xBF\xC0\xED\xF5";
    for (uint32_t n = 1 + below(3); n > 0 && !text.empty(); --n) {
      const uint32_t at = below(static_cast<uint32_t>(text.size()));
      const char byte = kBytes[below(kBytes.size())];
      switch (below(6)) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        case 2: text.erase(at, 1 + below(3)); break;
        case 3: text.resize(at); break;
        case 4: text.insert(at, text.substr(below(static_cast<uint32_t>(text.size())), 1 + below(12))); break;
        default: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      }
    }
    return text;
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(static_cast<uint32_t>(i))]);
  }

 private:
  std::mt19937 random_;
};

// The members of an object as they are spelled: (key with its quotes, value).
inline JsonGen::Members members_of(std::string_view object) {
  JsonGen::Members out;
  json::Cursor cursor(object);
  if (!cursor.enter_object()) return out;
  json::Span key, value;
  bool escaped = false;
  while (cursor.next_key(key, escaped)) {
    if (!cursor.skip(value)) break;
    out.emplace_back('"' + std::string(key.in(object)) + '"', value.in(object));
  }
  return out;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The lines of a corpus's index.tsv without its heading, cut at the tabs.
inline std::vector<std::vector<std::string>> read_index(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(path);
  std::string line;
  for (bool heading = true; std::getline(in, line); heading = false) {
    if (heading) continue;
    std::vector<std::string> columns(1);
    for (const char c : line) {
      if (c == '\t') {
        columns.emplace_back();
      } else {
        columns.back() += c;
      }
    }
    rows.push_back(std::move(columns));
  }
  return rows;
}

}  // namespace lineward::test
