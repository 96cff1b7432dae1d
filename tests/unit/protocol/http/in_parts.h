// Parsers must see the same in the same bytes, in whatever parts: whole, byte by byte, and cut in two.
// pump(parser, seen), found by the test's own type, fills `seen`.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

namespace lineward::http {

template <class Parser, class Seen, class Limits>
Seen in_parts(const std::vector<std::string_view>& parts, const Limits& limits) {
  Parser parser(limits);
  Seen seen;
  for (std::string_view part : parts) {
    parser.append(part);
    pump(parser, seen);
  }
  return seen;
}

// `cuts`: where the second of two parts begins.
template <class Parser, class Seen, class Limits>
Seen in_any_parts(std::string_view bytes, const Limits& limits, const std::vector<size_t>& cuts) {
  using Parts = std::vector<std::string_view>;
  const auto fed = [&](const Parts& parts) { return in_parts<Parser, Seen>(parts, limits); };
  Seen whole = fed({bytes});
  Parts single;
  for (size_t i = 0; i < bytes.size(); ++i)
    single.push_back(bytes.substr(i, 1));
  CHECK((fed(single) == whole));
  size_t different = 0;
  for (const size_t cut : cuts) {
    if (!(fed({bytes.substr(0, cut), bytes.substr(cut)}) == whole)) ++different;
  }
  CHECK(different == 0);
  return whole;
}

}  // namespace lineward::http
