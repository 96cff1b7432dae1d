#include "proxy/exchange/request_state.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "foundation/base/base64url.h"
#include "foundation/base/check.h"
#include "protocol/mcp/input_required.h"
#include "proxy/core/parked_state.h"

namespace lineward::exchange {
namespace {

constexpr std::string_view kPrefix = core::kParkedPrefix;
constexpr size_t kProcess = core::kParkedBy, kId = 16, kExpiry = 8, kWho = 16, kWhat = 16, kMac = 32;
constexpr size_t kSigned = kProcess + kId + kExpiry + kWho + kWhat;
constexpr size_t kBytes = kSigned + kMac;  // a multiple of 3: base64 without padding
constexpr size_t kText = kBytes / 3 * 4;
static_assert(kBytes % 3 == 0);

std::string random_bytes(size_t count) {
  std::string out(count, '\0');
  LW_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1);
  return out;
}

std::string number(uint64_t value) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
  return out;
}

uint64_t number_in(std::string_view bytes) {
  uint64_t value = 0;
  for (unsigned char byte : bytes)
    value = value << 8 | byte;
  return value;
}

std::string_view view(const std::array<unsigned char, 32>& digest, size_t length) {
  return {reinterpret_cast<const char*>(digest.data()), length};
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string_view name(StateFault fault) {
  switch (fault) {
    case StateFault::none: return "none";
    case StateFault::tampered: return "tampered";
    case StateFault::foreign: return "foreign";
    case StateFault::other_call: return "other_call";
    case StateFault::expired: return "expired";
    case StateFault::used: return "used";
    case StateFault::lost: return "lost";
  }
  return "";
}

RequestStates::RequestStates() : keys_(1), process_(random_bytes(kProcess)) {
  LW_CHECK(RAND_bytes(keys_[0].data(), static_cast<int>(keys_[0].size())) == 1);
}

void RequestStates::share(const std::shared_ptr<const SealKeys>& keys, std::string_view replica) {
  if (keys == nullptr) return;
  keys_ = keys->derived("request state 1");
  if (!replica.empty()) process_ = replica_tag(replica);
}

RequestStates::Digest RequestStates::mac(const Digest& key, std::string_view text) {
  Digest out{};
  unsigned int length = 0;
  LW_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(),
                &length) != nullptr);
  return out;
}

RequestStates::Digest RequestStates::keyed(const Digest& key, std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) {
    text += number(part.size());  // length prefixes: different lists never read the same
    text += part;
  }
  return mac(key, text);
}

std::string RequestStates::digest_of(const mcp::Message& request) {
  const std::string params = mcp::salient_params(request);
  Digest out{};
  unsigned int length = 0;
  LW_CHECK(EVP_Digest(params.data(), params.size(), out.data(), &length, EVP_sha256(), nullptr) == 1);
  return std::string(view(out, length));
}

RequestStates::Made RequestStates::make(const StateBinding& binding,
                                        std::chrono::milliseconds expires) const {
  Made made;
  made.id = random_bytes(kId);
  std::string bytes = process_ + made.id + number(static_cast<uint64_t>(expires.count()));
  const Digest& key = keys_.front();
  bytes += view(keyed(key, {"who", binding.principal, binding.upstream}), kWho);
  bytes += view(keyed(key, {"what", binding.method, binding.params()}), kWhat);
  bytes += view(mac(key, bytes), kMac);
  made.text = std::string(kPrefix) + to_base64url(bytes);
  return made;
}

RequestStates::Read RequestStates::read(std::string_view text, const StateBinding& binding,
                                        std::chrono::milliseconds now) const {
  if (text.size() != kPrefix.size() + kText || text.substr(0, kPrefix.size()) != kPrefix)
    return {StateFault::tampered, {}};
  auto bytes = from_base64url(text.substr(kPrefix.size()));
  if (!bytes || bytes->size() != kBytes) return {StateFault::tampered, {}};
  std::string_view all = *bytes;
  if (all.substr(0, kProcess) != process_) return {StateFault::lost, {}};
  const Digest* key = nullptr;
  for (const Digest& one : keys_) {
    if (key == nullptr && same(all.substr(kSigned), view(mac(one, all.substr(0, kSigned)), kMac))) key = &one;
  }
  if (key == nullptr) return {StateFault::tampered, {}};
  auto part = [&, at = kProcess](size_t length) mutable {
    std::string_view out = all.substr(at, length);
    at += length;
    return out;
  };
  Read read;
  read.id = std::string(part(kId));
  uint64_t expires = number_in(part(kExpiry));
  if (!same(part(kWho), view(keyed(*key, {"who", binding.principal, binding.upstream}), kWho))) {
    read.fault = StateFault::foreign;
  } else if (!same(part(kWhat), view(keyed(*key, {"what", binding.method, binding.params()}), kWhat))) {
    read.fault = StateFault::other_call;
  } else if (static_cast<uint64_t>(now.count()) >= expires) {
    read.fault = StateFault::expired;
  }
  return read;
}

}  // namespace lineward::exchange
