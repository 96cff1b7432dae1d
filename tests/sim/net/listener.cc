// foundation/net/listener.h: an address of the world that clients connect to.
#include "foundation/net/listener.h"

#include <fmt/format.h>

#include <algorithm>

#include "world.h"

namespace lineward::net {

using sim::world;

void Listener::on_connection(uv_stream_t*, int) {}
void Listener::on_connection() {}
bool Listener::leaves_enough(const ByteStream&) const {
  return true;
}

void Listener::hand_on(std::unique_ptr<ByteStream> stream) {
  accepted_(std::move(stream), "somebody");
}

bool Listener::has_its_file() const {
  return true;
}

Status<> Listener::change_file(const SocketFile&) {
  return Done{};
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const std::string& address, Accepted accepted,
                                                 const SocketFile&) {
  return join(loop, -1, address, true, std::move(accepted));
}

Result<std::unique_ptr<Listener>> Listener::join(Loop& loop, int, std::string address, bool loopback,
                                                 Accepted accepted) {
  std::unique_ptr<Listener> self(new Listener(loop, std::move(accepted)));
  self->address_ = std::move(address);
  self->loopback_ = loopback;
  Listener* here = self.get();
  world().listeners()[here->address_].push_back(
      {here, world().home(), [here](std::shared_ptr<sim::Link> link) {
         // New connections are closed then, so that calls under way have the descriptors that they need.
         if (world().is_crowded()) {
           link->from_gateway.end();
           link->to_gateway.close_reader();
           if (here->out_of_descriptors_) here->out_of_descriptors_();
           return;
         }
         std::string peer = link->peer;
         auto stream = ByteStream::from_socket(here->loop_, world().put(std::move(link)));
         if (stream) here->accepted_(std::move(*stream), std::move(peer));
       }});
  return self;
}

int Listener::share() const {
  return 0;
}

Listener::~Listener() {
  close();
}

void Listener::close() {
  if (!sim::has_world()) return;
  auto found = world().listeners().find(address_);
  if (found != world().listeners().end())
    std::erase_if(found->second, [&](const auto& door) { return door.listener == this; });
}

void Listener::take_waiting() {}

}  // namespace lineward::net
