// The protocol between gateway, spawner and supervisors: small messages over SOCK_SEQPACKET, one per send.
// All three are the same binary, so numbers are in native form. A command's argv and environment are sent in
// a memfd next to its three pipe ends: the socket's send buffer would limit them otherwise.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/process/child_process.h"

namespace lineward::process::spawning {

inline constexpr size_t kMaxCommandBytes = size_t{1} << 20;
inline constexpr size_t kMaxMessageBytes = size_t{16} << 10;
inline constexpr size_t kStdioCount = 3;
inline constexpr size_t kSpawnFdCount = kStdioCount + 1;  // the memfd is the last

class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~OwnedFd() { reset(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0) ::close(old);
  }

 private:
  int fd_ = -1;
};

// gateway -> spawner
struct Request {
  enum class Kind : uint8_t { spawn = 1, signal = 2 };
  Kind kind = Kind::spawn;
  uint64_t id = 0;
  char which = 0;  // signal: a TreeSignal; also the whole message spawner -> supervisor
};

// supervisor -> spawner -> gateway; `gone` is sent by the spawner itself: no process is left below that id.
struct Reply {
  enum class Kind : uint8_t { started = 1, failed = 2, exited = 3, gone = 4 };
  Kind kind = Kind::gone;
  uint64_t id = 0;
  pid_t pid = 0;      // started
  ExitStatus status;  // exited
  Error failure;      // failed
};

std::string encode(const Request& request);
bool decode(std::string_view bytes, Request* request);
std::string encode(const Reply& reply);
bool decode(std::string_view bytes, Reply* reply);
std::string encode(const SpawnRequest& command);
bool decode(std::string_view bytes, SpawnRequest* command);

// The whole content of a memfd, whatever its offset; false when it is larger than a command may be.
bool read_memfd(int fd, std::string* bytes);
bool write_all(int fd, std::string_view bytes);

// A single message, never blocking. Both return the result of sendmsg/recvmsg, with errno set.
ssize_t send_message(int socket, std::string_view bytes, const std::vector<int>& fds = {});
ssize_t receive_message(int socket, std::string* bytes, std::vector<OwnedFd>* fds);

// Closes every descriptor from 3 on but these.
void close_all_except(std::vector<int> keep);

}  // namespace lineward::process::spawning
