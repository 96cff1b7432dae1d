// Errors as values at run time. Result<T> follows std::expected (C++23), so that a `using` can replace it. No
// exception crosses a libuv or llhttp callback; broken invariants abort (foundation/base/check.h).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace lineward {

// The reason of a failure.
struct Error {
  std::string text;        // for people
  bool retryable = false;  // nothing was done yet, and the same request may be sent again
  int code = 0;            // an errno or an HTTP status, if a caller decides by it; 0: none
  std::string place = {};  // the step that failed, if a caller decides by it
};

template <class E>
struct Unexpected {
  E error;
};

inline Unexpected<Error> fail(std::string text, bool retryable = false) {
  return {Error{std::move(text), retryable}};
}

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Unexpected<E> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  E& error() { return std::get<1>(state_); }
  const E& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, E> state_;
};

// A result without a value: success or an error.
struct Done {};
template <class E = Error>
using Status = Result<Done, E>;

}  // namespace lineward
