#include "unread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

namespace lineward::wire {
namespace {

struct Ends {
  sockaddr_in mine{}, theirs{};
};

// The bytes that the other end has not read, from sock_diag(7), which looks at that one socket. No value if
// the kernel does not report them.
std::optional<unsigned> unread_there(const Ends& ends) {
  int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return std::nullopt;
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } request{};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_INET;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0u;
  request.body.id.idiag_sport = ends.theirs.sin_port;
  request.body.id.idiag_dport = ends.mine.sin_port;
  request.body.id.idiag_src[0] = ends.theirs.sin_addr.s_addr;
  request.body.id.idiag_dst[0] = ends.mine.sin_addr.s_addr;
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  alignas(nlmsghdr) char reply[4096];
  ssize_t n = send(netlink, &request, sizeof request, 0) < 0 ? -1 : recv(netlink, reply, sizeof reply, 0);
  close(netlink);
  const auto* head = reinterpret_cast<const nlmsghdr*>(reply);
  if (n < static_cast<ssize_t>(sizeof *head)) return std::nullopt;
  if (head->nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error;
    memcpy(&error, NLMSG_DATA(head), sizeof error);
    return error.error == -ENOENT ? std::optional(0u)
                                  : std::nullopt;  // it is closed, and has read all it will
  }
  if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  inet_diag_msg told;
  memcpy(&told, NLMSG_DATA(head), sizeof told);
  return told.idiag_rqueue;
}

// The same from the table of all connections, which takes the longer the more of them there are.
unsigned unread_in_table(const Ends& ends) {
  FILE* table = fopen("/proc/net/tcp", "re");
  if (!table) return 0;
  unsigned waiting = 0;
  char row[512];
  while (fgets(row, sizeof row, table)) {
    unsigned local = 0, local_port = 0, remote = 0, remote_port = 0, state = 0, out = 0, in = 0;
    if (sscanf(row, " %*u: %8X:%4X %8X:%4X %2X %8X:%8X", &local, &local_port, &remote, &remote_port, &state,
               &out, &in) != 7) {
      continue;
    }
    if (local_port == ntohs(ends.theirs.sin_port) && remote_port == ntohs(ends.mine.sin_port)) waiting += in;
  }
  fclose(table);
  return waiting;
}

}  // namespace

bool has_unread(int fd) {
  Ends ends;
  socklen_t size = sizeof ends.mine;
  if (fd < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&ends.mine), &size) != 0) return false;
  size = sizeof ends.theirs;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&ends.theirs), &size) != 0) return false;
  int on_the_way = 0;
  if (ioctl(fd, SIOCOUTQ, &on_the_way) == 0 && on_the_way > 0) return true;
  auto there = unread_there(ends);
  return (there ? *there : unread_in_table(ends)) > 0;
}

}  // namespace lineward::wire
