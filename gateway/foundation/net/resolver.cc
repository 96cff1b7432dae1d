#include "foundation/net/resolver.h"

#include <fmt/format.h>
#include <uv.h>

#include "foundation/net/address_class.h"

namespace lineward::net {
namespace {

Result<Addresses> without_private(Result<Addresses> found, const std::string& host) {
  if (!found) return found;
  std::erase_if(*found, [](const Address& address) {
    return !is_public(reinterpret_cast<const sockaddr&>(address.bytes));
  });
  if (found->empty())
    return fail(fmt::format("{} is not on the public Internet, and the configuration does not name it", host),
                true);
  return found;
}

}  // namespace

Resolver::Resolver(Loop& loop, std::string host, uint16_t port, ResolverOptions options)
    : loop_(loop), host_(std::move(host)), port_(port), options_(std::move(options)), lookup_(loop) {
  if (!options_.look_up) options_.look_up = NameLookup::of_system;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (uv_ip4_addr(host_.c_str(), port, &v4) == 0) {
    known_.push_back(make_address(reinterpret_cast<sockaddr*>(&v4), sizeof v4));
  } else if (uv_ip6_addr(host_.c_str(), port, &v6) == 0) {
    known_.push_back(make_address(reinterpret_cast<sockaddr*>(&v6), sizeof v6));
  }
  literal_ = !known_.empty();
  if (!options_.only_public) return;
  auto found = without_private(known_, host_);
  refused_literal_ = literal_ && !found;
  options_.look_up = [look = std::move(options_.look_up)](const std::string& name, uint16_t at) {
    return without_private(look(name, at), name);
  };
}

Resolver::~Resolver() = default;

const Addresses& Resolver::known() const {
  static const Addresses none;
  return (literal_ && !refused_literal_) || loop_.now() < known_until_ ? known_ : none;
}

void Resolver::forget() {
  known_until_ = milliseconds(0);
}

void Resolver::ask(Answer answer) {
  waiting_.push_back(std::move(answer));
  if (lookup_.under_way() || literal_asked_) return;
  if (literal_) {
    literal_asked_ = true;
    loop_.defer(lifetime_, [this] {
      literal_asked_ = false;
      answered(refused_literal_ ? without_private(known_, host_) : Result<Addresses>(known_));
    });
    return;
  }
  lookup_.start(host_, port_, options_.look_up, [this](const Result<Addresses>& found) { answered(found); });
}

void Resolver::answered(const Result<Addresses>& answer) {
  if (answer) {
    known_ = *answer;
    known_until_ = loop_.now() + options_.young;
  }
  std::vector<Answer> waiting;
  waiting.swap(waiting_);
  for (auto& one : waiting)
    one(answer);
}

}  // namespace lineward::net
