#pragma once
// Catch2 3 (Debian 13) under the one header and the names of Catch2 2 (Debian 12), which the tests use.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdint>
#include <string>

using Catch::Approx;

namespace Catch {

inline Matchers::StringContainsMatcher Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }
inline Matchers::RegexMatcher Matches(const std::string& expression) { return Matchers::Matches(expression); }
inline std::uint32_t rngSeed() { return getSeed(); }

}  // namespace Catch
