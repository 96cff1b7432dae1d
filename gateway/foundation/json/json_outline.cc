#include "foundation/json/json_outline.h"

#include <algorithm>

#include "foundation/json/json_grammar.h"

namespace lineward::json {
namespace {

// An unfinished key, number or word is scanned again from its beginning; beyond this length the outline is
// abandoned.
constexpr ptrdiff_t kMaxAgain = 4096;
// Maximum length of a partial escape or UTF-8 sequence.
constexpr ptrdiff_t kMaxPart = 5;

}  // namespace

Outline::Outline(int max_depth, uint32_t worth)
    : max_depth_(static_cast<size_t>(std::min(max_depth, kDepthCeiling))), worth_(worth) {}

Outline::Outline(Span valid) : Outline() {
  due_ = Due::nothing;
  if (valid) noted_.push_back({valid.begin, valid.end});
}

void Outline::clear() {
  open_.clear();
  noted_.clear();
  due_ = Due::value;
  at_ = string_ = 0;
}

// A smaller value is not recorded, and contains none that is.
void Outline::note(uint32_t begin, uint32_t end, uint32_t noted) {
  const uint32_t size = end - begin;
  if (size < worth_) return;
  if (size - noted >= worth_ || open_.size() < kOuterLevels) {
    noted_.push_back({begin, end});
    noted = size;
  }
  if (!open_.empty()) open_.back().noted += noted;
}

void Outline::more(std::string_view text) {
  if (due_ == Due::nothing) return;
  if (text.size() >= std::numeric_limits<uint32_t>::max()) {  // offsets would wrap
    due_ = Due::nothing;
    return;
  }
  const char* const begin = text.data();
  Scanner<false> scan{begin + at_, begin + text.size()};
  const auto offset = [begin](const char* at) { return static_cast<uint32_t>(at - begin); };
  // More text may complete this, or it is invalid: the message parser reports that.
  const auto wait = [&](Due due, const char* from, ptrdiff_t longest) {
    at_ = offset(from);
    due_ = scan.end - from <= longest ? due : Due::nothing;
  };
  const auto give_up = [&] { due_ = Due::nothing; };
  bool in_object = !open_.empty() && open_.back().object;
  bool escaped;
  for (Due due = due_;; due = Due::value) {
    switch (due) {
      case Due::first:
        if (const char next = scan.token(); scan.at == scan.end) {
          return wait(due, scan.at, 0);
        } else if (next == (in_object ? '}' : ']')) {
          break;
        }
        [[fallthrough]];
      case Due::value: {
        const char* const from = scan.at;
        if (in_object) {
          const char* key_from;
          const char* key_to;
          if (!scan.key(key_from, key_to, escaped)) return wait(Due::value, from, kMaxAgain);
        }
        const char first = scan.token();
        const char* const value = scan.at;
        if (value == scan.end) return wait(Due::value, from, kMaxAgain);
        if (first == '"') {
          ++scan.at;
          if (!scan.string(escaped)) {
            if (scan.end - from <= kMaxAgain) return wait(Due::value, from, kMaxAgain);
            string_ = offset(value);
            return wait(Due::string_end, scan.at, kMaxPart);
          }
          if (scan.at - value >= worth_) note(offset(value), offset(scan.at), 0);
        } else if (first == '{' || first == '[') {
          if (open_.size() >= max_depth_) return give_up();
          in_object = first == '{';
          open_.push_back({offset(value), 0, in_object});
          ++scan.at;
          // As above, here for most containers: they have all arrived.
          if (const char next = scan.token(); scan.at == scan.end) {
            return wait(Due::first, scan.at, 0);
          } else if (next != (in_object ? '}' : ']')) {
            continue;
          }
        } else if (!scan.scalar(first) || scan.at == scan.end) {  // a number may continue
          return wait(Due::value, from, kMaxAgain);
        }
        break;
      }
      case Due::string_end:
        if (!scan.string(escaped)) return wait(due, scan.at, kMaxPart);
        note(string_, offset(scan.at), 0);
        break;
      case Due::separator:
      case Due::nothing: break;
    }
    // A value has ended, or an empty container is about to end: continue to the next comma.
    for (;;) {
      const char next = scan.token();
      if (scan.at == scan.end) return wait(Due::separator, scan.at, 0);
      if (open_.empty()) return give_up();  // the text continues after its value
      ++scan.at;
      if (next == ',') break;
      if (next != (in_object ? '}' : ']')) return give_up();
      const Open closed = open_.back();
      open_.pop_back();
      in_object = !open_.empty() && open_.back().object;
      if (offset(scan.at) - closed.begin >= worth_) note(closed.begin, offset(scan.at), closed.noted);
    }
  }
}

void Outline::close() {
  due_ = Due::nothing;
  open_ = {};
  std::sort(noted_.begin(), noted_.end(), [](const Noted& a, const Noted& b) { return a.begin < b.begin; });
}

size_t Outline::bytes_beside_strings(std::string_view text, Span part) const {
  size_t beside = part.size();
  auto one = std::lower_bound(noted_.begin(), noted_.end(), part.begin,
                              [](const Noted& a, uint32_t wanted) { return a.begin < wanted; });
  for (; one != noted_.end() && one->end <= part.end; ++one) {
    if (text[one->begin] == '"') beside -= one->end - one->begin;
  }
  return beside;
}

Outline Outline::after(const std::vector<Edit>& edits) const {
  Outline out;
  out.due_ = Due::nothing;
  out.noted_.reserve(noted_.size());
  auto edit = edits.begin();
  int64_t shift = 0;
  for (const Noted& one : noted_) {
    for (; edit != edits.end() && edit->end <= one.begin; ++edit)
      shift += static_cast<int64_t>(edit->text.size()) - (edit->end - edit->begin);
    if (edit != edits.end() && edit->begin < one.end) continue;  // changed within
    out.noted_.push_back({static_cast<uint32_t>(one.begin + shift), static_cast<uint32_t>(one.end + shift)});
  }
  return out;
}

uint32_t Outline::end_of(uint32_t begin) const {
  auto found = std::lower_bound(noted_.begin(), noted_.end(), begin,
                                [](const Noted& one, uint32_t wanted) { return one.begin < wanted; });
  return found != noted_.end() && found->begin == begin ? found->end : 0;
}

}  // namespace lineward::json
