#include "foundation/process/stderr_tail.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "foundation/log/excerpt.h"

namespace lineward::process {
namespace {

// How programming languages mark errors, and how the system words them.
constexpr std::array<std::string_view, 9> kNamed{
    "error: ", "error [",     "exception: ",        "panic: ",      "panicked at",
    "fatal: ", "fatal error", "segmentation fault", "out of memory"};
constexpr std::array<std::string_view, 14> kSaid{
    "not found", "no such file",    "cannot ", "can't ",   "could not ",   "unable to ",  "denied",
    "refused",   "not in this reg", "missing", "invalid ", "unauthorized", "unexpected ", "required"};
// Lines that only point to further reading.
constexpr std::array<std::string_view, 3> kPointers{"a complete log of this run", "debug-0.log",
                                                    "please report"};

bool has_one(std::string_view text, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// "    at Module._load (node:internal…)" and "  code: 'ERR_…'": lines that belong to the error before them.
bool is_part(std::string_view small) {
  const size_t begin = std::min(small.find_first_not_of(" \t"), small.size());
  return begin > 0 && (small.substr(begin, 3) == "at " || small.substr(begin, 6) == "code: ");
}

int rank_of(std::string_view line) {
  std::string small(line.substr(0, StderrTail::kLongest));
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (is_part(small) || has_one(small, kPointers)) return 0;
  if (has_one(small, kNamed)) return 3;
  if (has_one(small, kSaid)) return 2;
  return small.find("error") != std::string::npos || small.find("failed") != std::string::npos ? 1 : 0;
}

}  // namespace

void StderrTail::add(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  last_ = log::Excerpt(line, kLongest).string();
  const int rank = rank_of(line);
  if (rank_ > 0 && ++since_ > kWindow) rank_ = 0;
  if (rank == 0 || rank < rank_) return;
  rank_ = rank;
  since_ = 0;
  telling_ = last_;
}

}  // namespace lineward::process
