// A typed value on its way into the structs. The option's kind decides which member is used.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lineward::config {

struct Value {
  std::chrono::milliseconds duration{};
  uint64_t number = 0;  // size, count, or the index of a choice
  bool flag = false;
  std::string text;
  std::vector<std::string> list;
  std::vector<std::pair<std::string, std::string>> map;
  bool operator==(const Value&) const = default;
};

}  // namespace lineward::config
