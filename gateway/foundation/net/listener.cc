#include "foundation/net/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "foundation/net/activation_sockets.h"
#include "foundation/net/socket_address.h"

namespace lineward::net {
namespace {

constexpr int kBacklog = 511;

// Client connections leave an eighth of the descriptors to everything else.
int highest_descriptor() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1'000'000'000) return 1'000'000'000;
  const auto most = static_cast<int>(limit.rlim_cur);
  return most - std::clamp(most / 8, 16, 256);
}

Unexpected<Error> failure(int error, const std::string& address) {
  return {Error{.text = fmt::format("cannot listen on {}: {}", address, uv_strerror(error)), .code = -error}};
}

// A socket file without a listener was left by a killed process; a live one is in use.
int clear_stale_socket(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return 0;
  if (!S_ISSOCK(status.st_mode)) return UV_EADDRINUSE;
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return uv_translate_sys_error(errno);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  int connected = connect(probe, reinterpret_cast<sockaddr*>(&name), sizeof name);
  bool nobody = connected != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!nobody) return UV_EADDRINUSE;
  unlink(path.c_str());
  return 0;
}

// Only this user may connect. A socket file gets the mode the socket has when it is bound (unix(7)). The
// process's umask stays unchanged, since it would apply to files that other threads create meanwhile.
int bind_private(uv_pipe_t* pipe, const std::string& path) {
  constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  int error = fchmod(fd, kPrivate) == 0 ? 0 : -errno;
  if (error == 0 && bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) error = -errno;
  struct stat made {};
  if (error == 0 && (lstat(path.c_str(), &made) != 0 || (made.st_mode & (S_IRWXG | S_IRWXO)) != 0)) {
    unlink(path.c_str());
    error = UV_EACCES;
  }
  if (error == 0) error = uv_pipe_open(pipe, fd);
  if (error != 0) ::close(fd);
  return error;
}

std::pair<dev_t, ino_t> file_at(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// The file is reached by a descriptor: its name may lead elsewhere by now, if others may write its directory.
// 0, or a negative errno.
int use_file(const std::string& path, const SocketFile& file) {
  const int fd = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -errno;
  struct stat status {};
  int error = fstat(fd, &status) == 0 ? 0 : -errno;
  if (error == 0 && !S_ISSOCK(status.st_mode)) error = UV_ENOTSOCK;
  constexpr uid_t kSameUser = static_cast<uid_t>(-1);
  constexpr gid_t kSameGroup = static_cast<gid_t>(-1);
  const uid_t owner = file.owner && *file.owner != status.st_uid ? *file.owner : kSameUser;
  const gid_t group = file.group && *file.group != status.st_gid ? *file.group : kSameGroup;
  if (error == 0 && (owner != kSameUser || group != kSameGroup) &&
      fchownat(fd, "", owner, group, AT_EMPTY_PATH) != 0)
    error = -errno;
  // chmod has no form for such a descriptor before Linux 6.6.
  const std::string by_descriptor = fmt::format("/proc/self/fd/{}", fd);
  if (error == 0 && (status.st_mode & 07777) != file.mode && chmod(by_descriptor.c_str(), file.mode) != 0)
    error = -errno;
  ::close(fd);
  return error;
}

}  // namespace

void Listener::on_connection(uv_stream_t* handle, int status) {
  auto* listener = static_cast<Listener*>(handle->data);
  if (listener && status == 0) return listener->on_connection();
  // libuv has closed the waiting connection, using its reserve descriptor.
  if (listener && listener->out_of_descriptors_) listener->out_of_descriptors_();
}

int Listener::listen_at(const sockaddr_storage& address) {
  int error = tcp_.open(this, [&](uv_tcp_t* h) { return uv_tcp_init(loop_.raw(), h); });
  if (error == 0) error = uv_tcp_bind(tcp_.get(), reinterpret_cast<const sockaddr*>(&address), 0);
  if (error == 0) error = uv_listen(tcp_.stream(), kBacklog, on_connection);
  if (error != 0) tcp_.close();
  return error;
}

Status<> Listener::change_file(const SocketFile& file) {
  if (unlink_.empty()) return Done{};
  if (const int error = use_file(unlink_, file)) return failure(error, address_);
  return Done{};
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const std::string& address, Accepted accepted,
                                                 const SocketFile& file) {
  if (auto given = activation_sockets().take(address))
    return join(loop, given->fd, std::move(given->address), given->loopback, std::move(accepted));
  std::unique_ptr<Listener> self(new Listener(loop, std::move(accepted)));
  self->highest_ = highest_descriptor();
  if (address.rfind("unix:", 0) == 0) {
    std::string path = address.substr(5);
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
      return failure(UV_ENAMETOOLONG, address);
    if (int error = clear_stale_socket(path)) return failure(error, address);
    int error = self->pipe_.open(self.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop.raw(), h, 0); });
    if (error == 0) error = bind_private(self->pipe_.get(), path);
    if (error == 0) self->unlink_ = path;
    if (error == 0) self->made_ = file_at(path);
    if (error == 0) error = use_file(path, file);
    if (error == 0) error = uv_listen(self->pipe_.stream(), kBacklog, on_connection);
    if (error != 0) return failure(error, address);
    self->address_ = address;
    self->loopback_ = true;
    return self;
  }
  sockaddr_storage bound{};
  if (!parse_address(address, bound)) {
    return fail(
        fmt::format("'{}' is no address to listen on; write host:port, :port or unix:/path", address));
  }
  sockaddr_storage ipv6{};
  int error = UV_EAFNOSUPPORT;
  if (is_every_address(address) && parse_address("[::]" + address.substr(address.rfind(':')), ipv6))
    error = self->listen_at(ipv6);
  // A machine without IPv6.
  if (error == UV_EAFNOSUPPORT || error == UV_EADDRNOTAVAIL) error = self->listen_at(bound);
  if (error != 0) return failure(error, address);
  int length = sizeof bound;
  uv_tcp_getsockname(self->tcp_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  self->address_ = describe(bound);
  self->loopback_ = is_loopback_address(bound);
  return self;
}

Result<std::unique_ptr<Listener>> Listener::join(Loop& loop, int fd, std::string address, bool loopback,
                                                 Accepted accepted) {
  std::unique_ptr<Listener> self(new Listener(loop, std::move(accepted)));
  self->highest_ = highest_descriptor();
  self->address_ = std::move(address);
  self->loopback_ = loopback;
  const bool path = self->address_.rfind("unix:", 0) == 0;
  int error = 0;
  if (path) {
    error = self->pipe_.open(self.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop.raw(), h, 0); });
    if (error == 0) error = uv_pipe_open(self->pipe_.get(), fd);
  } else {
    error = self->tcp_.open(self.get(), [&](uv_tcp_t* h) { return uv_tcp_init(loop.raw(), h); });
    if (error == 0) error = uv_tcp_open(self->tcp_.get(), fd);
  }
  if (error != 0) {
    ::close(fd);
    return failure(error, self->address_);
  }
  error = uv_listen(path ? self->pipe_.stream() : self->tcp_.stream(), kBacklog, on_connection);
  if (error != 0) return failure(error, self->address_);
  return self;
}

int Listener::share() const {
  uv_os_fd_t fd = -1;
  auto* handle = reinterpret_cast<const uv_handle_t*>(tcp_ ? tcp_.stream() : pipe_.stream());
  if (handle == nullptr || uv_fileno(handle, &fd) != 0) return -1;
  return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

Listener::~Listener() {
  close();
}

bool Listener::has_its_file() const {
  return unlink_.empty() || file_at(unlink_) == made_;
}

void Listener::close() {
  // Before the close: after it another process may make a file of that name, and even of that number.
  if (!unlink_.empty() && has_its_file()) unlink(unlink_.c_str());
  unlink_.clear();
  tcp_.close();
  pipe_.close();
}

// The kernel allocates the lowest free descriptor: a high number means few are left. Refusing connections
// here keeps accept from running out of them.
bool Listener::leaves_enough(const ByteStream& stream) const {
  if (!out_of_descriptors_) return true;  // probes and operators are not limited
  uv_os_fd_t fd = -1;
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(stream.raw()), &fd) != 0 || fd < highest_) return true;
  out_of_descriptors_();
  return false;
}

void Listener::on_connection() {
  std::unique_ptr<ByteStream> stream(new ByteStream(loop_));
  if (tcp_) {
    if (stream->tcp_.open(stream.get(), [&](uv_tcp_t* h) { return uv_tcp_init(loop_.raw(), h); }) != 0)
      return;
    if (uv_accept(tcp_.stream(), stream->tcp_.stream()) != 0) return;
  } else {
    if (stream->pipe_.open(stream.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop_.raw(), h, 0); }) != 0)
      return;
    if (uv_accept(pipe_.stream(), stream->pipe_.stream()) != 0) return;
  }
  hand_on(std::move(stream));
}

void Listener::take_waiting() {
  uv_os_fd_t listening = -1;
  auto* handle = reinterpret_cast<const uv_handle_t*>(tcp_ ? tcp_.stream() : pipe_.stream());
  if (handle == nullptr || uv_fileno(handle, &listening) != 0) return;
  for (int taken = 0; taken <= kBacklog; ++taken) {
    int fd = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    std::unique_ptr<ByteStream> stream(new ByteStream(loop_));
    int error = 0;
    if (tcp_) {
      error = stream->tcp_.open(stream.get(), [&](uv_tcp_t* h) { return uv_tcp_init(loop_.raw(), h); });
      if (error == 0) error = uv_tcp_open(stream->tcp_.get(), fd);
    } else {
      error = stream->pipe_.open(stream.get(), [&](uv_pipe_t* h) { return uv_pipe_init(loop_.raw(), h, 0); });
      if (error == 0) error = uv_pipe_open(stream->pipe_.get(), fd);
    }
    if (error != 0) {
      ::close(fd);
      return;
    }
    hand_on(std::move(stream));
  }
}

void Listener::hand_on(std::unique_ptr<ByteStream> stream) {
  if (!leaves_enough(*stream)) return;
  std::string peer = "unix";
  if (tcp_) {
    uv_tcp_nodelay(stream->tcp_.get(), 1);
    sockaddr_storage address{};
    int length = sizeof address;
    if (uv_tcp_getpeername(stream->tcp_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      peer = describe(address);
    }
  }
  accepted_(std::move(stream), std::move(peer));
}

}  // namespace lineward::net
