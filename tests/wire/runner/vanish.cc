#include "vanish.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "http_connection.h"

namespace lineward::wire {

// socket(7), SO_ATTACH_FILTER: a program that keeps 0 bytes of each packet drops it before TCP sees it.
void vanish(int socket) {
  // Unacknowledged bytes would be sent again, and that would be visible.
  int unacknowledged = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (ioctl(socket, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0 &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  sock_filter keep_nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &keep_nothing};
  if (setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw WireError(fmt::format("cannot vanish: {}", std::strerror(errno)));
}

}  // namespace lineward::wire
