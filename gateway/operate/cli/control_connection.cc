#include "operate/cli/control_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lineward::cli {
namespace {

// A page of the largest lists has some hundred KiB.
constexpr uint64_t kMaxAnswer = 64ull << 20;
// Between attempts to connect to a gateway with a full queue.
constexpr std::chrono::milliseconds kTryAgain{50};

}  // namespace

ControlConnection::ControlConnection(std::string socket, std::string path, std::string_view body,
                                     std::string_view headers)
    : target_(fetch::unix_target(std::move(socket), std::move(path))),
      request_(target_.request(body.empty() ? "GET" : "POST", headers, body)),
      exchange_(kMaxAnswer) {
  connect();
}

void ControlConnection::connect() {
  const int error = exchange_.connect(target_, request_, std::chrono::steady_clock::now()).error;
  if (error != 0 && error != EAGAIN && error != EINTR)
    fault_ = fmt::format("cannot connect to {}: {}", socket(), std::strerror(error));
}

void ControlConnection::advance() {
  if (over()) return;
  if (!exchange_.is_connected()) connect();
  exchange_.advance();
  if (!exchange_.over() || exchange_.complete()) return;
  fault_ = exchange_.too_long() ? fmt::format("{} answers with more than {} MiB", socket(), kMaxAnswer >> 20)
           : status() == 0      ? socket() + " did not answer as a gateway does"
                                : socket() + " has hung up";
}

bool wait_for_any(pollfd* set, size_t count, std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  const bool only_time = std::any_of(set, set + count, [](const pollfd& one) { return one.fd < 0; });
  const auto most = only_time ? std::min(left, kTryAgain) : left;
  poll(set, count, static_cast<int>(std::min<int64_t>(most.count() + 1, 60000)));
  return true;
}

}  // namespace lineward::cli
