// The `requestState` of parked calls: "lw1." and 128 characters of base64url. It holds an unguessable id, its
// expiry, and digests of the caller and of the request. All are under an HMAC with a key of this process, or
// one that all replicas share (2026-07-28 "Multi Round-Trip Requests", server requirements 4 and 5).
//
// States are not stored here; proxy/exchange/park_table.h makes sure that each is used only once.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/seal_keys.h"
#include "protocol/mcp/message.h"

namespace lineward::exchange {

// The caller, server and request that a state is bound to.
struct StateBinding {
  std::string_view principal;
  std::string_view upstream;
  std::string_view method;
  // RequestStates::digest_of, which copies the parameters. Called only after the state's HMAC and caller are
  // verified: otherwise a forged state would cost megabytes of copying.
  std::function<std::string()> params;
};

enum class StateFault : uint8_t {
  none,
  tampered,    // not made by Lineward, or changed
  foreign,     // another principal's, or another server's
  other_call,  // another method or other parameters
  expired,
  used,
  lost  // the call, its process, or the gateway that made it is gone
};
// The value of `data.reason` in errors.
std::string_view name(StateFault fault);

class RequestStates {
 public:
  RequestStates();  // a new key
  // Uses the keys of all replicas from here on, and marks states as this replica's (replica_tag). Null keys
  // change nothing.
  void share(const std::shared_ptr<const SealKeys>& keys, std::string_view replica);

  // The digest of the parameters that identify a call (mcp::salient_params).
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
  // Reports `used` and `lost` only for states of another process; others are unknown here.
  Read read(std::string_view text, const StateBinding& binding, std::chrono::milliseconds now) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest mac(const Digest& key, std::string_view text);
  static Digest keyed(const Digest& key, std::initializer_list<std::string_view> parts);

  std::vector<Digest> keys_;  // the first one signs, all verify
  std::string process_;       // 8 random bytes: states of another process are `lost`, not `tampered`
};

}  // namespace lineward::exchange
