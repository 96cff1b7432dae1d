#include "proxy/client/replica/replicas.h"

#include <openssl/evp.h>

#include <array>
#include <charconv>

#include "foundation/base/base64url.h"
#include "foundation/base/check.h"

namespace lineward::client {
namespace {

constexpr std::string_view kSealed = "lws1.";
constexpr std::string_view kTied = "lwr1~";
constexpr std::string_view kVersion = "session 1";
constexpr size_t kMac = 16;
constexpr size_t kPassedMac = 32;
constexpr size_t kMaxClient = 100;  // an address with its port, or a word such as "unix"
// Allowed clock difference between two replicas, plus the transit time of a request.
constexpr std::chrono::seconds kSkew{60};

std::string number(uint64_t value, size_t size) {
  std::string out;
  for (size_t at = size; at-- > 0;)
    out += static_cast<char>(value >> (8 * at) & 0xff);
  return out;
}

// Reads fields from the front of a sealed text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (unsigned char byte : take(size))
      value = value << 8 | byte;
    return value;
  }
  std::string text() { return std::string(take(number(2))); }
  bool good() const { return good_; }
  bool more() const { return !rest_.empty(); }

 private:
  std::string_view take(size_t size) {
    if (size > rest_.size()) {
      good_ = false;
      return {};
    }
    std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::string_view rest_;
  bool good_ = true;
};

std::string text(std::string_view value) {
  return number(value.size(), 2) + std::string(value);
}

std::string context(std::string_view server, std::string_view principal) {
  return joined_parts({kVersion, server, principal});
}

std::string digest(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int length = 0;
  LW_CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, EVP_sha256(), nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(out.data()), length);
}

std::string marked(std::string_view time, std::string_view method, std::string_view target,
                   std::string_view body) {
  return joined_parts({"passed 1", time, method, target, digest(body)});
}

// The mark is a MAC over the request; this text binds the client's address to the mark.
std::string marked_for(std::string_view mark, std::string_view client) {
  return joined_parts({"passed for 1", mark, client});
}

// The time in the mark; empty: invalid or too old.
std::string_view fresh_time(std::string_view mark, Replicas::Time at) {
  const size_t dot = mark.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view time = mark.substr(0, dot);
  int64_t seconds = 0;
  auto [end, fault] = std::from_chars(time.data(), time.data() + time.size(), seconds);
  if (fault != std::errc() || end != time.data() + time.size()) return {};
  const Replicas::Time made{seconds};
  return made > at + kSkew || made < at - kSkew ? std::string_view() : time;
}

}  // namespace

Replicas::Time Replicas::now() {
  return std::chrono::duration_cast<Time>(std::chrono::system_clock::now().time_since_epoch());
}

std::string Replicas::sealed_id(const Sealed& session, std::string_view server, std::string_view principal,
                                Time issued) const {
  std::string plain = number(static_cast<uint64_t>(issued.count()), 8) + text(session.id) +
                      text(session.state.revision) + text(session.state.server_session);
  if (session.state.authorization) plain += number(*session.state.authorization, 8);
  std::string out = std::string(kSealed) + to_base64url(keys_->seal(context(server, principal), plain));
  return out.size() <= kMaxId ? out : std::string();
}

std::string Replicas::tied_id(std::string_view id) const {
  if (name_.empty()) return std::string(id);
  std::string mac = keys_->mac(joined_parts({"tied 1", name_, id})).substr(0, kMac);
  return std::string(kTied) + name_ + "~" + std::string(id) + "~" + to_base64url(mac);
}

bool Replicas::is_tied(std::string_view shown) {
  return shown.substr(0, kTied.size()) == kTied;
}

Replicas::Read Replicas::read(std::string_view shown, std::string_view server, std::string_view principal,
                              Time at) const {
  if (shown.size() > kMaxId) return {};
  if (shown.substr(0, kSealed.size()) == kSealed) return read_sealed(shown, server, principal, at);
  if (is_tied(shown)) return read_tied(shown);
  Read read;
  read.kind = Read::Kind::here;
  read.session.id = std::string(shown);
  return read;
}

Replicas::Read Replicas::read_sealed(std::string_view shown, std::string_view server,
                                     std::string_view principal, Time at) const {
  auto bytes = from_base64url(shown.substr(kSealed.size()));
  auto plain = bytes ? keys_->open(context(server, principal), *bytes) : std::nullopt;
  if (!plain) return {};
  Reader reader(*plain);
  Time issued{static_cast<int64_t>(reader.number(8))};
  Read read;
  read.session.id = reader.text();
  read.session.state.revision = reader.text();
  read.session.state.server_session = reader.text();
  if (reader.more()) read.session.state.authorization = reader.number(8);
  bool over = issued > at + kSkew || at - issued >= lifetime_;
  if (reader.good() && !over) read.kind = Read::Kind::sealed;
  return read;
}

Replicas::Read Replicas::read_tied(std::string_view shown) const {
  shown.remove_prefix(kTied.size());
  size_t first = shown.find('~'), last = shown.rfind('~');
  if (first == std::string_view::npos || first == last) return {};
  std::string_view name = shown.substr(0, first), id = shown.substr(first + 1, last - first - 1);
  auto mac = from_base64url(shown.substr(last + 1));
  if (!mac || mac->size() != kMac || !keys_->is_mac(joined_parts({"tied 1", name, id}), *mac)) return {};
  Read read;
  read.kind = name == name_ ? Read::Kind::here : Read::Kind::elsewhere;
  read.session.id = std::string(id);
  read.replica = std::string(name);
  return read;
}

std::string Replicas::mark(std::string_view method, std::string_view target, std::string_view body,
                           Time at) const {
  std::string time = std::to_string(at.count());
  return time + "." + to_base64url(keys_->mac(marked(time, method, target, body)));
}

bool Replicas::is_marked(std::string_view mark, std::string_view method, std::string_view target,
                         std::string_view body, Time at) const {
  const std::string_view time = fresh_time(mark, at);
  if (time.empty()) return false;
  auto mac = from_base64url(mark.substr(time.size() + 1));
  return mac && mac->size() == kPassedMac && keys_->is_mac(marked(time, method, target, body), *mac);
}

std::string Replicas::client_mark(std::string_view mark, std::string_view client) const {
  return std::string(client) + "." + to_base64url(keys_->mac(marked_for(mark, client)));
}

std::string_view Replicas::client_of(std::string_view client_mark, std::string_view mark, Time at) const {
  const size_t dot = client_mark.rfind('.');
  if (dot == std::string_view::npos || dot > kMaxClient || fresh_time(mark, at).empty()) return {};
  const std::string_view client = client_mark.substr(0, dot);
  auto mac = from_base64url(client_mark.substr(dot + 1));
  const bool ours = mac && mac->size() == kPassedMac && keys_->is_mac(marked_for(mark, client), *mac);
  return ours ? client : std::string_view();
}

}  // namespace lineward::client
