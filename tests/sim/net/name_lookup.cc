// foundation/net/name_lookup.h: names of the world, which take as long as it says.
#include "foundation/net/name_lookup.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <utility>

#include "world.h"

namespace lineward::net {

using sim::world;

struct NameLookup::Mailbox {};

NameLookup::NameLookup(Loop& loop) : loop_(loop) {}

NameLookup::~NameLookup() = default;

Result<Addresses> NameLookup::of_system(const std::string& host, uint16_t port) {
  Addresses addresses;
  const auto name = world().names().find(host);
  if (name != world().names().end()) {
    for (const auto& text : name->second.addresses) {
      sockaddr_in v4{};
      v4.sin_family = AF_INET;
      v4.sin_port = htons(port);
      if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1)
        addresses.push_back(make_address(reinterpret_cast<sockaddr*>(&v4), sizeof v4));
    }
  }
  if (addresses.empty()) return fail(fmt::format("the name {} cannot be resolved: not known", host), true);
  return addresses;
}

void NameLookup::start(const std::string& host, uint16_t port, Work work, Answer answer) {
  answer_ = std::move(answer);
  mailbox_ = std::make_shared<Mailbox>();
  const auto name = world().names().find(host);
  const sim::Time delay = name == world().names().end() ? sim::kMillisecond : name->second.delay;
  world().at_home(world().home(), world().now() + delay,
                  [this, asked = std::weak_ptr<Mailbox>(mailbox_), host, port, work = std::move(work)] {
                    if (asked.expired()) return;  // and the resolver with it
                    mailbox_.reset();
                    const Answer told = std::exchange(answer_, nullptr);
                    told(work(host, port));
                  });
}

}  // namespace lineward::net
