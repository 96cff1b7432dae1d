// Membership in a short list.
#pragma once

#include <algorithm>

namespace lineward {

// Compares with each element in turn: for tables of words and other short lists.
template <class List, class Value>
bool is_among(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace lineward
