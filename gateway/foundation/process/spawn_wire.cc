#include "foundation/process/spawn_wire.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace lineward::process::spawning {

namespace {

// A longer searched PATH is truncated: it is only for display.
constexpr size_t kMaxTextBytes = size_t{7} << 10;

class Writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, sizeof raw);
  }
  void text(std::string_view text) {
    number(static_cast<uint32_t>(text.size()));
    out_.append(text);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  template <class T>
  T number() {
    T value{};
    if (in_.size() < sizeof value) {
      ok_ = false;
      in_ = {};
      return value;
    }
    std::memcpy(&value, in_.data(), sizeof value);
    in_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    if (size > in_.size()) {
      ok_ = false;
      return {};
    }
    std::string out(in_.substr(0, size));
    in_.remove_prefix(size);
    return out;
  }
  bool ok() const { return ok_; }
  bool complete() const { return ok_ && in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

void write_list(Writer& out, const std::vector<std::string>& list) {
  out.number(static_cast<uint32_t>(list.size()));
  for (const auto& entry : list)
    out.text(entry);
}

void read_list(Reader& in, std::vector<std::string>* list) {
  const auto count = in.number<uint32_t>();
  list->clear();
  for (uint32_t i = 0; i < count && in.ok(); ++i)
    list->push_back(in.text());
}

}  // namespace

std::string encode(const Request& request) {
  Writer out;
  out.number(request.kind);
  out.number(request.id);
  out.number(request.which);
  return out.take();
}

bool decode(std::string_view bytes, Request* request) {
  Reader in(bytes);
  request->kind = in.number<Request::Kind>();
  request->id = in.number<uint64_t>();
  request->which = in.number<char>();
  return in.complete() && (request->kind == Request::Kind::spawn || request->kind == Request::Kind::signal);
}

std::string encode(const Reply& reply) {
  Writer out;
  out.number(reply.kind);
  out.number(reply.id);
  if (reply.kind == Reply::Kind::started) out.number(reply.pid);
  if (reply.kind == Reply::Kind::exited) {
    out.number(reply.status.code);
    out.number(reply.status.signal);
  }
  if (reply.kind == Reply::Kind::failed) {
    out.text(reply.failure.place);
    out.number(reply.failure.code);
    out.text(std::string_view(reply.failure.text).substr(0, kMaxTextBytes));
  }
  return out.take();
}

bool decode(std::string_view bytes, Reply* reply) {
  Reader in(bytes);
  reply->kind = in.number<Reply::Kind>();
  reply->id = in.number<uint64_t>();
  switch (reply->kind) {
    case Reply::Kind::started: reply->pid = in.number<pid_t>(); break;
    case Reply::Kind::exited:
      reply->status.code = in.number<int>();
      reply->status.signal = in.number<int>();
      break;
    case Reply::Kind::failed:
      reply->failure.place = in.text();
      reply->failure.code = in.number<int>();
      reply->failure.text = in.text();
      break;
    case Reply::Kind::gone: break;
    default: return false;
  }
  return in.complete();
}

std::string encode(const SpawnRequest& command) {
  Writer out;
  write_list(out, command.argv);
  write_list(out, command.environment);
  out.text(command.cwd);
  out.number(static_cast<uint32_t>(command.limits.size()));
  for (const ResourceLimit& limit : command.limits) {
    out.number(limit.resource);
    out.number(limit.value);
  }
  return out.take();
}

bool decode(std::string_view bytes, SpawnRequest* command) {
  Reader in(bytes);
  read_list(in, &command->argv);
  read_list(in, &command->environment);
  command->cwd = in.text();
  const auto count = in.number<uint32_t>();
  command->limits.clear();
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    ResourceLimit limit;
    limit.resource = in.number<Resource>();
    limit.value = in.number<uint64_t>();
    if (limit.resource >= Resource::count_) return false;
    command->limits.push_back(limit);
  }
  return in.complete();
}

bool read_memfd(int fd, std::string* bytes) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size < 0 || static_cast<size_t>(info.st_size) > kMaxCommandBytes) {
    return false;
  }
  bytes->resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t n = ::pread(fd, bytes->data() + done, bytes->size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

ssize_t send_message(int socket, std::string_view bytes, const std::vector<int>& fds) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kSpawnFdCount)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n;
}

ssize_t receive_message(int socket, std::string* bytes, std::vector<OwnedFd>* fds) {
  bytes->resize(kMaxMessageBytes);
  iovec part{bytes->data(), bytes->size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kSpawnFdCount)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  const int error = errno;
  bytes->resize(n > 0 ? static_cast<size_t>(n) : 0);
  std::vector<OwnedFd> received;
  if (n >= 0) {
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
         part_of = CMSG_NXTHDR(&message, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof fd, sizeof fd);
        received.emplace_back(fd);
      }
    }
  }
  if (fds != nullptr) *fds = std::move(received);
  errno = error;
  return n;
}

void close_all_except(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  bool refused = false;
  unsigned next = 3;
  for (const int fd : keep) {
    if (fd < static_cast<int>(next)) continue;
    if (static_cast<unsigned>(fd) > next) {
      refused |= ::close_range(next, static_cast<unsigned>(fd) - 1, 0) != 0;
    }
    next = static_cast<unsigned>(fd) + 1;
  }
  refused |= ::close_range(next, ~0U, 0) != 0;
  if (!refused) return;
  // Kernels before 5.9 and some sandboxes have no close_range.
  DIR* open_fds = ::opendir("/proc/self/fd");
  if (open_fds == nullptr) {
    const long limit = ::sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < limit; ++fd) {
      if (!std::binary_search(keep.begin(), keep.end(), fd)) ::close(fd);
    }
    return;
  }
  std::vector<int> surplus;
  while (const dirent* entry = ::readdir(open_fds)) {
    const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    if (fd >= 3 && fd != ::dirfd(open_fds) && !std::binary_search(keep.begin(), keep.end(), fd)) {
      surplus.push_back(fd);
    }
  }
  ::closedir(open_fds);
  for (const int fd : surplus)
    ::close(fd);
}

}  // namespace lineward::process::spawning
