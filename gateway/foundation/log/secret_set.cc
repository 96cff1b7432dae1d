#include "foundation/log/secret_set.h"

#include <algorithm>

namespace lineward::redaction {
namespace {

uint16_t pair_at(std::string_view text, size_t at) {
  return static_cast<uint16_t>((static_cast<unsigned char>(text[at]) << 8) |
                               static_cast<unsigned char>(text[at + 1]));
}

}  // namespace

SecretSet::SecretSet(const std::vector<std::string>& values, size_t shortest)
    : shortest_(std::max<size_t>(shortest, 2)) {
  for (const std::string& value : values) {
    if (value.size() < shortest_) continue;
    begins_.set(pair_at(value, 0));
    by_pair_[pair_at(value, 0)].push_back(value);
  }
  for (auto& [pair, some] : by_pair_)
    std::sort(some.begin(), some.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

// The size of the longest value at `at`; 0: none.
size_t SecretSet::size_at(std::string_view text, size_t at) const {
  const uint16_t pair = pair_at(text, at);
  if (!begins_.test(pair)) return 0;
  for (const std::string& value : by_pair_.at(pair)) {
    if (text.substr(at, value.size()) == value) return value.size();
  }
  return 0;
}

// Ordered and disjoint: a value may begin within another one and end after it.
std::vector<SecretSet::Place> SecretSet::places(std::string_view text) const {
  std::vector<Place> out;
  for (size_t at = 0; at + shortest_ <= text.size(); ++at) {
    const size_t size = size_at(text, at);
    if (size == 0) continue;
    if (!out.empty() && at < out.back().end) {
      out.back().end = std::max(out.back().end, at + size);
    } else {
      out.push_back({at, at + size});
    }
  }
  return out;
}

bool SecretSet::stand_in(std::string_view text) const {
  for (size_t at = 0; at + shortest_ <= text.size(); ++at) {
    if (size_at(text, at) > 0) return true;
  }
  return false;
}

std::string SecretSet::hide(std::string_view text, std::string_view mark) const {
  return without(text, places(text), mark);
}

std::string SecretSet::hide_cut(std::string_view text, std::string_view mark, size_t least) const {
  std::vector<Place> hidden = places(text);
  const size_t begun = text.size() - begun_at_end(text, least);
  if (!hidden.empty() && begun < hidden.back().end) {
    hidden.back().end = text.size();
  } else if (begun < text.size()) {
    hidden.push_back({begun, text.size()});
  }
  return without(text, hidden, mark);
}

std::string SecretSet::without(std::string_view text, const std::vector<Place>& hidden,
                               std::string_view mark) {
  std::string out;
  size_t taken = 0;
  for (const Place& place : hidden) {
    out.append(text.substr(taken, place.begin - taken));
    out.append(mark);
    taken = place.end;
  }
  out.append(text.substr(taken));
  return out;
}

size_t SecretSet::begun_at_end(std::string_view text, size_t least) const {
  size_t longest = 0;
  for (const auto& [pair, some] : by_pair_) {
    for (const std::string& value : some) {
      for (size_t part = std::min(value.size() - 1, text.size()); part >= std::max(least, longest + 1);
           --part) {
        if (text.substr(text.size() - part) != std::string_view(value).substr(0, part)) continue;
        longest = part;
        break;
      }
    }
  }
  return longest;
}

}  // namespace lineward::redaction
