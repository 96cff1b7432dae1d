#include "foundation/net/std_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lineward::net {
namespace {

constexpr milliseconds kLookEvery{200};

// The kernel refuses to poll regular files and some devices: they are always ready.
bool can_wait(int fd) {
  int poll = epoll_create1(EPOLL_CLOEXEC);
  if (poll < 0) return false;
  epoll_event event{};
  bool can = epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
  ::close(poll);
  return can;
}

}  // namespace

StdStreams::StdStreams(Loop& loop, StreamCallbacks& owner)
    : loop_(loop), owner_(owner), next_read_(loop), next_look_(loop) {
  in_.streams = out_.streams = this;
}

StdStreams::~StdStreams() {
  lifetime_.end();
  for (Side* side : {&in_, &out_}) {
    side->stream.reset();
    if (side->flags >= 0) fcntl(side->fd, F_SETFL, side->flags);
  }
}

Status<> StdStreams::open(int in, int out) {
  // Reads both flags before changing either: the descriptors may share one file description.
  int in_flags = fcntl(in, F_GETFL), out_flags = fcntl(out, F_GETFL);
  if (in_flags < 0 || out_flags < 0)
    return fail(fmt::format("{} is not open", in_flags < 0 ? "stdin" : "stdout"));
  if (auto opened = open(in_, in, in_flags); !opened) return opened;
  return open(out_, out, out_flags);
}

Status<> StdStreams::open(Side& side, int fd, int flags) {
  side.fd = fd;
  if (!can_wait(fd)) return Done{};
  // A separate descriptor for libuv, which closes it.
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return fail(fmt::format("stdin or stdout: {}", std::strerror(errno)));
  side.flags = flags;
  auto stream = ByteStream::from_pipe(loop_, own);
  if (!stream) return fail(stream.error().text);
  side.stream = std::move(*stream);
  side.stream->set_owner(&side);
  return Done{};
}

void StdStreams::start_reading() {
  if (input_ended_ || broken_ || reading_) return;
  reading_ = true;
  if (in_.stream) return in_.stream->start_reading();
  next_read_.start(milliseconds(0), [this] { read_file(); });
}

void StdStreams::pause_reading() {
  reading_ = false;
  next_read_.stop();
  if (in_.stream) in_.stream->pause_reading();
}

void StdStreams::read_file() {
  std::array<char, 64 * 1024> bytes;
  ssize_t got = ::read(in_.fd, bytes.data(), bytes.size());
  if (got == 0 || (got < 0 && errno != EINTR)) return ended(got < 0 ? -errno : 0);
  next_read_.start(milliseconds(0), [this] { read_file(); });
  if (got > 0) owner_.on_data({bytes.data(), static_cast<size_t>(got)});
}

void StdStreams::write(std::string bytes) {
  if (broken_) return;
  if (out_.stream) return out_.stream->write(std::move(bytes));
  std::string_view rest = bytes;
  while (!rest.empty()) {
    ssize_t sent = ::write(out_.fd, rest.data(), rest.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return end_later(-errno);
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

// Pipes without a reader report ERR, sockets with a closed peer HUP. A peer that only ended its writes
// reports neither.
void StdStreams::watch_output() {
  if (!out_.stream || broken_) return;
  pollfd look{out_.fd, 0, 0};
  if (::poll(&look, 1, 0) > 0 && (look.revents & (POLLERR | POLLHUP)) != 0) return end_later(-EPIPE);
  next_look_.start(kLookEvery, [this] { watch_output(); });
}

void StdStreams::end_later(int error) {
  loop_.defer(lifetime_, [this, error] { ended(error); });
}

}  // namespace lineward::net
