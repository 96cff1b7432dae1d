#include "log/secret_set.h"

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

// Of the longest value that stands there; 0: none does.
size_t SecretSet::size_at(std::string_view text, size_t at) const {
  const uint16_t pair = pair_at(text, at);
  if (!begins_.test(pair)) return 0;
  for (const std::string& value : by_pair_.at(pair)) {
    if (text.substr(at, value.size()) == value) return value.size();
  }
  return 0;
}

// Calls at(place, size) for each value in the text, until that says false.
template <class At>
void SecretSet::each(std::string_view text, At&& at) const {
  for (size_t place = 0; place + shortest_ <= text.size();) {
    const size_t size = size_at(text, place);
    if (size > 0 && !at(place, size)) return;
    place += std::max<size_t>(size, 1);
  }
}

bool SecretSet::stand_in(std::string_view text) const {
  bool found = false;
  each(text, [&found](size_t, size_t) { return !(found = true); });
  return found;
}

std::string SecretSet::hide(std::string_view text, std::string_view mark) const {
  std::string out;
  size_t taken = 0;
  each(text, [&](size_t place, size_t size) {
    out.append(text.substr(taken, place - taken));
    out.append(mark);
    taken = place + size;
    return true;
  });
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
