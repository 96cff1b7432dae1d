#include "protocol/mcp/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "foundation/json/json_member.h"

namespace lineward::mcp {
namespace {

std::optional<uint64_t> number_of(std::string_view raw) {
  uint64_t number = 0;
  const char* end = raw.data() + raw.size();
  const auto [read, error] = std::from_chars(raw.data(), end, number);
  if (raw.empty() || error != std::errc() || read != end) return std::nullopt;
  return number;
}

// Letters, digits, - and _, as they stand in the JSON text: nothing of it has to be decoded.
std::optional<std::string> name_of(std::string_view raw) {
  if (raw.size() < kMinProbeNonce + 2 || raw.size() > kMaxProbeNonce + 2 || raw.front() != '"')
    return std::nullopt;
  const std::string_view name = raw.substr(1, raw.size() - 2);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  return plain ? std::optional(std::string(name)) : std::nullopt;
}

}  // namespace

Result<ProbeRequest> read_probe(const Message& request) {
  ProbeRequest out;
  if (!request.is_object(Field::params)) return out;
  const std::string_view params = request.raw(Field::params);
  const auto outcome = json::member(params, "outcome");
  const auto nonce = outcome ? outcome : json::member(params, "nonce");
  if (nonce) {
    auto name = name_of(*nonce);
    if (!name)
      return fail(
          fmt::format("a nonce has {} to {} letters, digits, - and _", kMinProbeNonce, kMaxProbeNonce));
    out.nonce = std::move(*name);
  }
  out.asks_outcome = outcome.has_value();
  if (out.asks_outcome) return out;
  const auto most = static_cast<uint64_t>(kMaxProbeTime.count());
  uint64_t events = 0, every = 0, silent = 0;
  for (auto& [name, number] : {std::pair("events", &events), {"everyMs", &every}, {"silentMs", &silent}}) {
    const auto raw = json::member(params, name);
    if (!raw) continue;
    const auto read = number_of(*raw);
    if (!read) return fail(fmt::format("{} is a whole number", name));
    *number = *read;
  }
  if (events > kMaxProbeEvents) return fail(fmt::format("at most {} events", kMaxProbeEvents));
  if (every > most || silent > most || events * every + silent > most)
    return fail(fmt::format("a stream of {} lasts at most {} ms", kProbe, most));
  if (events + silent > 0 && out.nonce.empty()) return fail("a stream needs a nonce");
  if (events > 0 && !request.has(Field::meta_progress_token)) return fail("events need a progressToken");
  out.events = static_cast<uint32_t>(events);
  out.every = std::chrono::milliseconds(every);
  out.silent = std::chrono::milliseconds(silent);
  return out;
}

bool is_probe_without_comments(const Message& request) {
  return request.method() == kProbe && request.is_object(Field::params) &&
         json::member(request.raw(Field::params), "keepAlive") == "false";
}

}  // namespace lineward::mcp
