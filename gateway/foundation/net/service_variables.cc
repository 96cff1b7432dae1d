#include "foundation/net/service_variables.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace lineward::net {
namespace {

std::string take(const char* name) {
  const char* value = std::getenv(name);
  std::string out = value == nullptr ? "" : value;
  unsetenv(name);
  return out;
}

template <class Number>
bool read(const std::string& text, Number& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ServiceVariables take_service_variables() {
  return {take("NOTIFY_SOCKET"), take("WATCHDOG_USEC"), take("WATCHDOG_PID"),
          take("LISTEN_FDS"),    take("LISTEN_PID"),    take("LISTEN_FDNAMES")};
}

std::chrono::microseconds watchdog_of(const ServiceVariables& variables) {
  constexpr int64_t kLongest = int64_t{1} << 50;  // 35 years
  int64_t limit = 0;
  pid_t whose = getpid();
  if (!read(variables.watchdog_usec, limit) || limit <= 0 || limit > kLongest) return {};
  if (!variables.watchdog_pid.empty() && (!read(variables.watchdog_pid, whose) || whose != getpid()))
    return {};
  return std::chrono::microseconds(limit);
}

}  // namespace lineward::net
