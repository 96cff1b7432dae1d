// The only way to own a libuv handle. libuv may use the memory until the close callback, so that callback
// frees it; the owner may be destroyed at once. After close() `data` is null and every callback must ignore
// the handle.
#pragma once

#include <uv.h>

#include <utility>

#include "foundation/base/check.h"

namespace lineward::net {

template <class H>
class Handle {
 public:
  Handle() = default;
  ~Handle() { close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      close();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }

  // `init` calls the uv_*_init function and returns its result; after a failure nothing needs closing.
  template <class Init>
  int open(void* owner, Init&& init) {
    LW_CHECK(handle_ == nullptr);
    H* handle = new H;
    int result = init(handle);
    if (result != 0) {
      delete handle;
      return result;
    }
    handle->data = owner;
    handle_ = handle;
    return 0;
  }
  void set_owner(void* owner) { handle_->data = owner; }

  void close() {
    if (handle_ == nullptr) return;
    handle_->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(handle_), [](uv_handle_t* h) { delete reinterpret_cast<H*>(h); });
    handle_ = nullptr;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  H* get() const { return handle_; }
  uv_stream_t* stream() const { return reinterpret_cast<uv_stream_t*>(handle_); }

 private:
  H* handle_ = nullptr;
};

}  // namespace lineward::net
