// The names of one aggregate that several workers serve, so that all of them show each item under the same
// name. Each worker has the whole of it, its NameMap, and reads that without a lock. A worker adds a name
// here first, in one order for all. The others take it over before they look at their own names the next
// time.
//
// SharedNames belongs to the process: any thread. A NameSync belongs to one NameMap and stays on its thread.
// Bounded as the NameMap is: owned names by `most` and bytes, URIs of results by their number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "foundation/base/memory_charge.h"

namespace lineward::aggregate {

class NameSync;

enum class NameKind : uint8_t {
  tool,
  prompt,
  uri,           // a listed URI, or a template
  uri_template,  // the beginning of a template that clients see unchanged
  origin,        // a server's name as the beginning of a scheme
  gone,          // none: the server's names are free
};

struct NameMap;

struct NameClaim {
  NameKind kind = NameKind::tool;
  std::string shown;
  std::string server;
  std::string original;
};

// A URI of a kept scheme in a server's result.
struct SeenUri {
  std::string uri;
  std::string server;
};

class SharedNames {
 public:
  // `most_seen`: as in each NameMap. An older URI is forgotten everywhere.
  explicit SharedNames(size_t most_seen) : most_seen_(most_seen) {}
  SharedNames(const SharedNames&) = delete;
  SharedNames& operator=(const SharedNames&) = delete;

 private:
  friend class NameSync;
  void drop_taken();
  const size_t most_seen_;
  std::atomic<uint64_t> additions_{0};
  std::mutex mutex_;
  // Below: with the lock.
  std::deque<NameClaim> claims_;  // those that some worker has not taken over yet, at least
  uint64_t dropped_ = 0;          // of claims_
  std::vector<const NameSync*> workers_;
  std::deque<SeenUri> seen_;
  uint64_t forgotten_ = 0;  // of seen_
  HeldCount bytes_{Held::servers};
};

class NameSync {
 public:
  // `shared` null: no other worker serves this aggregate, and nothing here has an effect.
  NameSync(std::shared_ptr<SharedNames> shared, NameMap& names);
  ~NameSync();
  NameSync(const NameSync&) = delete;
  NameSync& operator=(const NameSync&) = delete;

  // Takes over what other workers have added.
  void catch_up() {
    if (shared_ && shared_->additions_.load(std::memory_order_acquire) != additions_) take_over();
  }

  // While it exists, no other worker adds a name, and this one knows all of them. May be nested.
  class Adding {
   public:
    // `sync` null: as without other workers.
    explicit Adding(NameSync* sync);
    ~Adding();
    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;
    // The worker's own names have it already.
    void added(NameClaim claim);
    void added(SeenUri seen);

   private:
    NameSync* sync_;  // null: alone
  };

 private:
  friend class SharedNames;
  void take_over();
  void take_news();

  const std::shared_ptr<SharedNames> shared_;
  NameMap& names_;
  uint64_t additions_ = 0;  // taken over or made here
  uint64_t claims_ = 0;     // likewise; changes with the lock
  uint64_t seen_ = 0;       // likewise
  int adding_ = 0;
};

}  // namespace lineward::aggregate
