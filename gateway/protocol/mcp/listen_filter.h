// The filter of a `subscriptions/listen`, or of its acknowledgement (2026-07-28 subscriptions). Decides which
// notifications pass (behaviour.md 6 and 13: only kinds requested and acknowledged, and exactly these URIs).
// Pure data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "foundation/base/counted_string.h"
#include "protocol/mcp/message.h"

namespace lineward::mcp {

class ListenFilter {
 public:
  // `notifications`: the raw object of a request or an acknowledgement.
  explicit ListenFilter(std::string_view notifications, const AccountPtr& whose = nullptr);

  bool passes(const Message& notification) const;
  // The raw object of an acknowledgement, cut to this filter; empty when nothing was cut.
  std::optional<std::string> cut(std::string_view acknowledged) const;

 private:
  CountedStringSet lists_;  // names of the lists that are true
  CountedStringSet uris_;
  CountedStringSet tasks_;
  CountedStringSet others_;  // notification kinds of extensions unknown to Lineward
};

}  // namespace lineward::mcp
