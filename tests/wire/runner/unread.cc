#include "unread.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

namespace lineward::wire {

bool has_unread(int fd) {
  sockaddr_in mine{}, theirs{};
  socklen_t size = sizeof mine;
  if (fd < 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&mine), &size) != 0) return false;
  size = sizeof theirs;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &size) != 0) return false;
  FILE* table = fopen("/proc/net/tcp", "re");
  if (!table) return false;
  bool waiting = false;
  char row[512];
  while (fgets(row, sizeof row, table)) {
    unsigned local = 0, local_port = 0, remote = 0, remote_port = 0, state = 0, out = 0, in = 0;
    if (sscanf(row, " %*u: %8X:%4X %8X:%4X %2X %8X:%8X", &local, &local_port, &remote, &remote_port, &state,
               &out, &in) != 7) {
      continue;
    }
    bool forth = local_port == ntohs(mine.sin_port) && remote_port == ntohs(theirs.sin_port);
    bool back = local_port == ntohs(theirs.sin_port) && remote_port == ntohs(mine.sin_port);
    if ((forth && out > 0) || (back && in > 0)) waiting = true;
  }
  fclose(table);
  return waiting;
}

}  // namespace lineward::wire
