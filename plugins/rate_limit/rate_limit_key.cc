#include "plugins/rate_limit/rate_limit_key.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "foundation/base/peer_address.h"

namespace lineward::plugins {
namespace {

constexpr std::array<std::string_view, 5> kParts{"principal", "address", "tool", "server", "session"};

// Anonymous callers must not share one bucket: one of them could lock out all others.
std::string principal_of(const plugin::RequestInfo& facts) {
  if (facts.caller != nullptr) return "by " + facts.caller->principal;
  return "at " + address_of_peer(facts.peer);
}

}  // namespace

Result<std::vector<KeyPart>> parse_key(std::string_view text) {
  std::vector<KeyPart> out;
  for (;;) {
    size_t plus = text.find('+');
    std::string_view word = text.substr(0, plus);
    auto found = std::find(kParts.begin(), kParts.end(), word);
    if (found == kParts.end()) return fail(fmt::format("a key is made of {}", fmt::join(kParts, ", ")));
    auto part = static_cast<KeyPart>(found - kParts.begin());
    if (std::find(out.begin(), out.end(), part) != out.end()) return fail("a part of the key stands twice");
    out.push_back(part);
    if (plus == std::string_view::npos) return out;
    text.remove_prefix(plus + 1);
  }
}

std::string key_of(const std::vector<KeyPart>& parts, const plugin::RequestInfo& facts) {
  std::string out;
  out.reserve(128);
  for (KeyPart part : parts) {
    std::string value;
    switch (part) {
      case KeyPart::principal: value = principal_of(facts); break;
      case KeyPart::address: value = address_of_peer(facts.peer); break;
      case KeyPart::tool:
        if (facts.method != mcp::Method::tools_call && facts.method != mcp::Method::tasks_update) return {};
        value = facts.target;
        break;
      case KeyPart::server: value = facts.upstream; break;
      case KeyPart::session:
        // Modern clients have no session, and an initialize does not use its new one, although its id exists
        // already. Both are counted by principal and address.
        value = facts.session.empty() || facts.method == mcp::Method::initialize
                    ? "of " + principal_of(facts) + " " + address_of_peer(facts.peer)
                    : "is " + std::string(facts.session);
        break;
    }
    // With the length, so that different lists of values give different texts.
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}:{}:"), static_cast<int>(part), value.size());
    out += value;
    out += ';';
  }
  return out;
}

bool is_of_caller(const std::vector<KeyPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](KeyPart part) {
    return part == KeyPart::principal || part == KeyPart::address || part == KeyPart::session;
  });
}

}  // namespace lineward::plugins
