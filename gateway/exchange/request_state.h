// The `requestState` of parked calls: "lw1." and 128 characters of base64url. It holds an unguessable id, its
// expiry, and digests of whose it is and of what was asked, all under an HMAC with a key of this process, or
// one that all replicas share
// (2026-07-28 "Multi Round-Trip Requests", server requirements 4 and 5).
//
// Nothing here keeps states; that one is used only once is the matter of exchange/park_table.h.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/seal_keys.h"
#include "mcp/message.h"

namespace lineward::exchange {

// What a state is good for.
struct StateBinding {
  std::string_view principal;
  std::string_view upstream;
  std::string_view method;
  // RequestStates::digest_of, which copies them: asked for only once the state is known to be ours and its
  // caller's, or else whoever sends a forged state makes us copy megabytes.
  std::function<std::string()> params;
};

enum class StateFault : uint8_t {
  none,
  tampered,    // not made by us, or changed
  foreign,     // another principal's, or another server's
  other_call,  // another method or other parameters
  expired,
  used,
  lost  // the call, its process, or the gateway that made it is gone
};
// The word that clients find in `data.reason`.
std::string_view name(StateFault fault);

class RequestStates {
 public:
  RequestStates();  // a new key
  // From here on under the keys of all replicas, and marked as this one's (replica_tag). Null keys change
  // nothing.
  void share(const std::shared_ptr<const SealKeys>& keys, std::string_view replica);

  // Of the parameters that make a request the same call (mcp::salient_params).
  static std::string digest_of(const mcp::Message& request);

  struct Made {
    std::string id;  // 16 random bytes
    std::string text;
  };
  // `expires`: on the loop's clock.
  Made make(const StateBinding& binding, std::chrono::milliseconds expires) const;

  struct Read {
    StateFault fault = StateFault::none;
    std::string id;
  };
  // `used` and `lost` calls are not known here, but for those of another process.
  Read read(std::string_view text, const StateBinding& binding, std::chrono::milliseconds now) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest mac(const Digest& key, std::string_view text);
  static Digest keyed(const Digest& key, std::initializer_list<std::string_view> parts);

  std::vector<Digest> keys_;  // the first one makes, all are read
  std::string process_;       // 8 random bytes: states of another process are lost, not tampered with
};

}  // namespace lineward::exchange
