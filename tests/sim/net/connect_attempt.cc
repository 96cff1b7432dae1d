// foundation/net/connect_attempt.h: addresses of the world.
#include "foundation/net/connect_attempt.h"

#include <cerrno>
#include <utility>

#include "world.h"

namespace lineward::net {

using sim::world;

struct ConnectAttempt::Pending {
  std::string address;
};

ConnectAttempt::ConnectAttempt(Loop& loop, Done done) : loop_(loop), done_(std::move(done)) {}

ConnectAttempt::~ConnectAttempt() = default;

int ConnectAttempt::start(const Address& address) {
  pending_ = std::make_shared<Pending>(Pending{address.text});
  const auto host = world().hosts().find(address.text);
  if (host != world().hosts().end() && host->second.silent) return 0;
  const sim::Time delay = host == world().hosts().end() ? 100 : host->second.delay;
  const std::weak_ptr<Pending> asked = pending_;
  world().at_home(world().home(), world().now() + delay, [this, asked] {
    if (!asked.expired()) connected(0);  // else it was given up
  });
  return 0;
}

// There are no such sockets in this world.
int ConnectAttempt::start(const std::string&) {
  return -ENOENT;
}

void ConnectAttempt::connected(int) {
  const std::string address = std::exchange(pending_, nullptr)->address;
  const Done done = done_;
  if (world().is_crowded()) return done(nullptr, -EMFILE);
  const auto there = world().hosts().find(address);
  if (there == world().hosts().end() || there->second.refuses || !there->second.accept)
    return done(nullptr, -ECONNREFUSED);
  sim::Random random(world().seed(), address, static_cast<uint64_t>(world().next_pid()));
  auto link = std::make_shared<sim::Link>(world(), random, sim::draw_weather(random, world().calm), address);
  there->second.accept(link);
  auto stream = ByteStream::from_socket(loop_, world().put(std::move(link)));
  done(std::move(*stream), 0);
}

void ConnectAttempt::stop() {
  pending_.reset();
}

}  // namespace lineward::net
