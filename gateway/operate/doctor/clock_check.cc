#include "operate/doctor/clock_check.h"

#include <fmt/format.h>
#include <time.h>

#include <cstdlib>

namespace lineward::doctor {
namespace {

constexpr int64_t kMuchSkew = 60;  // seconds; the usual leeway in token checks

}  // namespace

int64_t clock_skew(const std::string& date, int64_t now) {
  tm parts{};
  if (date.empty() || strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts) == nullptr) return 0;
  return static_cast<int64_t>(timegm(&parts)) - now;
}

void check_clock(const std::string& date, const std::string& whose, Findings& findings) {
  const int64_t skew = clock_skew(date, static_cast<int64_t>(time(nullptr)));
  if (skew > kMuchSkew || skew < -kMuchSkew) {
    findings.warning(
        "clock",
        fmt::format("{} is {} s {} this machine's: tokens may be refused as expired or not yet valid", whose,
                    std::abs(skew), skew > 0 ? "ahead of" : "behind"),
        "set both clocks (timedatectl set-ntp true)");
  }
}

}  // namespace lineward::doctor
