// The era of a server, as far as all workers know it. If each server of a path is modern, any worker may
// serve a modern caller there: Lineward keeps nothing for it.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace lineward::upstream {

class KnownEra {
 public:
  // False while it is unknown.
  bool is_modern() const { return is_modern_.load(std::memory_order_relaxed); }
  // The same of the version before, when it was retired.
  bool was_modern() const { return was_modern_.load(std::memory_order_relaxed); }

 protected:
  ~KnownEra() = default;
  void begin_anew() { was_modern_ = is_modern_.exchange(false); }
  std::atomic<bool> is_modern_{false}, was_modern_{false};
};

// The era of a server that lives on one worker. All versions of the server share it. Written on that worker's
// thread.
class HomeEra final : public KnownEra {
 public:
  // Begins a new version of the server, of an unknown era; returns its number.
  uint64_t begin() {
    begin_anew();
    return ++version_;
  }
  // Has no effect if the version is not the newest.
  void publish(uint64_t version, bool is_modern) {
    if (version == version_) is_modern_.store(is_modern, std::memory_order_relaxed);
  }

 private:
  uint64_t version_ = 0;
};

}  // namespace lineward::upstream
