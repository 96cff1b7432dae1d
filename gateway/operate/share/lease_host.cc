#include "operate/share/lease_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "foundation/log/log.h"
#include "foundation/net/byte_stream.h"

namespace lineward::share {
namespace {

using std::chrono::milliseconds;

// The client that has started the gateway was killed before it could ask for its lease.
constexpr milliseconds kFirstClient{2'000};
// From the connection to the request.
constexpr milliseconds kPatience{5'000};

}  // namespace

class LeaseHost::Lease final : private net::StreamCallbacks {
 public:
  Lease(LeaseHost& host, std::unique_ptr<net::ByteStream> stream)
      : host_(host), stream_(std::move(stream)), limit_(host.loop_) {
    stream_->set_owner(this);
    stream_->start_reading();
    limit_.start(kPatience, [this] { host_.over(*this); });
  }
  ~Lease() { stream_->close(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  bool granted() const { return granted_; }
  const LeaseRequest& request() const { return request_; }
  void close() {
    limit_.stop();
    stream_->close();
  }

 private:
  // net::StreamCallbacks
  void on_data(std::string_view bytes) override {
    if (granted_ || refused_) return;  // nothing more is expected
    line_.append(bytes.substr(0, kMaxLeaseLine + 1 - std::min(line_.size(), kMaxLeaseLine)));
    const size_t end = line_.find('\n');
    if (end == std::string::npos && line_.size() < kMaxLeaseLine) return;
    limit_.stop();
    auto request = read_lease_request(std::string_view(line_).substr(0, end));
    const std::string why = request ? host_.grant(*this, *request) : "this is no request for a lease";
    if (why.empty()) {
      request_ = std::move(*request);
      granted_ = true;
    }
    stream_->write(lease_answer({granted_, why}));
    if (!granted_) {
      refused_ = true;
      stream_->end_writes();
      limit_.start(kPatience, [this] { host_.over(*this); });
    }
  }
  void on_end(int) override { host_.over(*this); }

  LeaseHost& host_;
  std::unique_ptr<net::ByteStream> stream_;
  net::Timer limit_;
  std::string line_;
  LeaseRequest request_;
  bool granted_ = false, refused_ = false;
};

LeaseHost::LeaseHost(net::Loop& loop, std::string path, Events events, milliseconds look)
    : loop_(loop),
      path_(std::move(path)),
      events_(std::move(events)),
      look_every_(look),
      idle_(loop),
      look_(loop) {}

LeaseHost::~LeaseHost() {
  close();
}

Status<> LeaseHost::listen() {
  auto listener = net::Listener::open(
      loop_, "unix:" + path_,
      [this](std::unique_ptr<net::ByteStream> stream, const std::string&) { accepted(std::move(stream)); });
  if (!listener) return Unexpected<Error>{listener.error()};
  listener_ = std::move(*listener);
  count_down(kFirstClient);
  look_later();
  return Done{};
}

void LeaseHost::close() {
  idle_.stop();
  look_.stop();
  listener_.reset();
  for (auto& lease : std::exchange(leases_, {})) {
    lease->close();
    loop_.retire(std::move(lease));
  }
}

size_t LeaseHost::clients() const {
  return static_cast<size_t>(
      std::count_if(leases_.begin(), leases_.end(), [](const auto& lease) { return lease->granted(); }));
}

bool LeaseHost::has(const std::string& token) const {
  return std::any_of(leases_.begin(), leases_.end(),
                     [&](const auto& lease) { return lease->granted() && lease->request().token == token; });
}

std::vector<pid_t> LeaseHost::pids() const {
  std::vector<pid_t> out;
  for (const auto& lease : leases_) {
    if (lease->granted()) out.push_back(lease->request().pid);
  }
  return out;
}

// The file of the socket is for this user alone. Root may connect too, and is refused.
void LeaseHost::accepted(std::unique_ptr<net::ByteStream> stream) {
  const bool own = stream->peer_uid() == geteuid();
  if (!own || leases_.size() >= kMaxClients * 2) return stream->close();
  leases_.push_back(std::make_unique<Lease>(*this, std::move(stream)));
}

std::string LeaseHost::grant(const Lease& lease, const LeaseRequest& request) {
  if (clients() >= kMaxClients) return fmt::format("it has {} clients, and takes no more", kMaxClients);
  const bool taken = std::any_of(leases_.begin(), leases_.end(), [&](const auto& other) {
    return other.get() != &lease && other->granted() && other->request().token == request.token;
  });
  if (taken) return "another client has the same name";
  idle_.stop();
  log::write(log::Level::info, "share.joined",
             {{"pid", int64_t{request.pid}}, {"clients", uint64_t{clients() + 1}}});
  return {};
}

void LeaseHost::over(Lease& lease) {
  auto found =
      std::find_if(leases_.begin(), leases_.end(), [&](const auto& one) { return one.get() == &lease; });
  if (found == leases_.end()) return;
  std::unique_ptr<Lease> ended = std::move(*found);
  leases_.erase(found);
  ended->close();
  const bool granted = ended->granted();
  const LeaseRequest request = ended->request();
  loop_.retire(std::move(ended));
  if (!granted) return;
  log::write(log::Level::info, "share.left",
             {{"pid", int64_t{request.pid}}, {"clients", uint64_t{clients()}}});
  if (clients() == 0) count_down(request.linger);
  events_.ended(request.token);
}

void LeaseHost::look_later() {
  look_.start(look_every_, [this] { look(); });
}

// A client reaches the gateway without a lease while its keeper still asks for one, or if its keeper was
// killed then. Such sessions and parked calls end at the second look.
void LeaseHost::look() {
  look_later();
  std::vector<std::string> unleased;
  for (std::string& token : events_.tokens()) {
    if (!has(token)) unleased.push_back(std::move(token));
  }
  const std::vector<std::string> before = std::exchange(unleased_, unleased);
  for (const std::string& token : unleased) {
    if (std::find(before.begin(), before.end(), token) != before.end()) events_.ended(token);
  }
  // A cleaner of temporary files has removed the socket: no client comes any more.
  if (listener_->has_its_file()) return;
  log::write(log::Level::warn, "share.socket_lost", {{"path", path_}});
  look_.stop();
  events_.idle();
}

void LeaseHost::count_down(milliseconds patience) {
  idle_.start(patience, [this] {
    if (clients() == 0) events_.idle();
  });
}

}  // namespace lineward::share
