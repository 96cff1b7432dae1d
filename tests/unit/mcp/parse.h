// Messages that a test writes down itself.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "mcp/message.h"

namespace lineward::mcp {

inline Message parse(const std::string& text) {
  auto message = Message::parse(text);
  if (!message) FAIL(message.error().text << ": " << text);
  return *std::move(message);
}

}  // namespace lineward::mcp
