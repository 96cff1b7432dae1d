// Whether a text has a key that some decoders take for one of ours (gateway/foundation/json/json_case.h),
// wherever it stands. If Lineward adds the key itself beside it, the next such reader would refuse the
// output: for such texts the output need not be a message.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "foundation/json/json_case.h"
#include "foundation/json/json_scan.h"
#include "protocol/mcp/message_keys.h"

inline bool has_likeness(std::string_view message) {
  using namespace lineward;
  const auto is_like = [](std::string_view key) {
    return std::any_of(std::begin(mcp::kRows), std::end(mcp::kRows), [key](const mcp::Row& row) {
      return key != row.key() && json::differs_in_case_alone(key, row.key());
    });
  };
  // In JSON texts, a string that a colon follows is a key.
  for (size_t at = 0; at < message.size(); ++at) {
    if (message[at] != '"') continue;
    const size_t begin = ++at;
    while (message[at] != '"')
      at += message[at] == '\\' ? 2 : 1;
    const size_t behind = message.find_first_not_of(" \t\r\n", at + 1);
    if (behind == std::string_view::npos || message[behind] != ':') continue;
    if (is_like(json::unescape(message.substr(begin, at - begin)))) return true;
  }
  return false;
}
