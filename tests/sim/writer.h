// An actor's end of a way to the gateway: what does not fit waits here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "link.h"

namespace lineward::sim {

class Writer {
 public:
  explicit Writer(std::shared_ptr<Link> link) : link_(std::move(link)) {
    link_->to_gateway.on_room = [this] { flush(); };
  }
  ~Writer() { link_->to_gateway.on_room = nullptr; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(std::string_view bytes) {
    if (ending_) return;
    waiting_ += bytes;
    offset_ += bytes.size();
    flush();
  }
  // Called when the gateway has read all that was written until now, but for so many bytes.
  void when_read(std::function<void()> then, size_t but = 0) {
    link_->to_gateway.when_consumed(offset_ - but, std::move(then));
  }
  void end() {
    ending_ = true;
    flush();
  }
  uint64_t offset() const { return offset_; }

 private:
  void flush() {
    while (!waiting_.empty()) {
      const size_t taken = link_->to_gateway.write(waiting_);
      if (taken == 0) return;
      waiting_.erase(0, taken);
    }
    if (ending_) link_->to_gateway.end();
  }
  std::shared_ptr<Link> link_;
  std::string waiting_;
  uint64_t offset_ = 0;
  bool ending_ = false;
};

}  // namespace lineward::sim
