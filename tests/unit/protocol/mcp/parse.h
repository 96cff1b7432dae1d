// Messages that a test writes down itself.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "protocol/mcp/message.h"

namespace lineward::mcp {

inline Message parse(const std::string& text) {
  auto message = Message::parse(text);
  if (!message) FAIL(message.error().text << ": " << text);
  return *std::move(message);
}

// Progress of a request: `token` is its raw progressToken.
inline std::string progress(const std::string& token) {
  return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token +
         R"(,"progress":1}})";
}

}  // namespace lineward::mcp
