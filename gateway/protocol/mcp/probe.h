// `lineward/probe`: a request that Lineward answers itself and never forwards. `lineward doctor URL` uses it
// to measure the proxies between itself and this gateway (docs/doctor.md). Pure.
//
//   {}                                     answered at once
//   {nonce, events, everyMs, silentMs}     a stream: so many progress notifications with their time, so long
//                                          nothing, then the result; `keepAlive: false`: no comments either
//   {outcome: nonce}                       how that stream ended
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "protocol/mcp/message.h"

namespace lineward::mcp {

inline constexpr std::string_view kProbe = "lineward/probe";
inline constexpr std::string_view kProbeMeta = "io.lineward/probe";  // of a notification: {"at": …}
// On the answer's head: what the front has seen of the way (proxy/client/http/front_view.h).
inline constexpr std::string_view kProbeHeader = "Lineward-Front";

inline constexpr uint32_t kMaxProbeEvents = 100;
inline constexpr std::chrono::milliseconds kMaxProbeTime = std::chrono::minutes(10);  // of one stream
inline constexpr size_t kMinProbeNonce = 16, kMaxProbeNonce = 64;

struct ProbeRequest {
  std::string nonce;  // of a stream, or of the stream in question; empty: answered at once
  bool asks_outcome = false;
  uint32_t events = 0;
  std::chrono::milliseconds every{0};   // between two events
  std::chrono::milliseconds silent{0};  // behind the last one
};

// The error is a sentence for the client; it names the limit that was broken. Members that have no meaning
// here are ignored.
Result<ProbeRequest> read_probe(const Message& request);
// True: it is such a request, for a stream without comments.
bool is_probe_without_comments(const Message& request);

}  // namespace lineward::mcp
