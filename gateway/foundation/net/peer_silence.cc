#include "foundation/net/peer_silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace lineward::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kTimes = 9;           // quiet periods until a peer is silent; a probe follows each but the last
constexpr seconds kLongest{32767};  // the kernel's maximum

void set(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void ask_when_quiet(int socket, milliseconds quiet) {
  const auto every = std::clamp(std::chrono::ceil<seconds>(quiet), seconds(1), kLongest);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(every.count()));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(every.count()));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kTimes - 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

// Unacknowledged data is retransmitted at growing intervals. A live peer acknowledges each retransmission, if
// only to report a full window. So its last acknowledgement is no older than the interval to the next
// retransmission.
bool is_silent(int socket, milliseconds quiet) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_unacked == 0) return false;
  const milliseconds heard(info.tcpi_last_ack_recv);
  const auto again = std::chrono::duration_cast<milliseconds>(std::chrono::microseconds(info.tcpi_rto));
  return heard >= kTimes * quiet && heard > again + again / 8;
}

}  // namespace lineward::net
