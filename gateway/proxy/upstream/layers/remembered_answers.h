// The answers of one server that are kept for the next life: a bounded table, and its text as a file
// (docs/quick-starts.md). An answer's key is a digest of the caller and the request. The text is checked as a
// peer's message is: whatever does not read back exactly is ignored as a whole.
//
// Owned by a RememberingUpstream. No I/O and no clock.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include "foundation/base/memory_charge.h"
#include "foundation/base/result.h"
#include "protocol/mcp/message.h"
#include "proxy/upstream/shared/era_verdict.h"

namespace lineward::upstream {

class RememberedAnswers {
 public:
  static constexpr size_t kMaxEntries = 256;

  // Null: there is none. Counts as a use.
  const mcp::Message* find(const std::string& key);
  // Replaces the answer of this key. False: it is longer than the limit, and none is kept.
  bool keep(const std::string& key, const mcp::Message& answer, uint64_t max_bytes);
  void forget(const std::string& key);
  void clear();
  // The server is another one now: only answers of this life remain.
  void forget_last_life();
  size_t size() const { return entries_.size(); }

  const EraVerdict& era() const { return era_; }
  // True: it is news.
  bool keep_era(const EraVerdict& verdict);
  // The server's own description of itself, raw JSON; empty: none is known. True: it is another one.
  bool keep_server(std::string_view implementation);

  // The file's text. The table is not changed by a text that cannot be read.
  std::string text(std::string_view fingerprint) const;
  Status<> read(std::string_view text, std::string_view fingerprint, uint64_t max_bytes);

 private:
  struct Entry {
    std::string key;
    mcp::Message answer;
    bool of_this_life = false;
    MemoryCharge held{Held::cache};
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  Entries entries_;  // the most recently used one first
  std::map<std::string, Entries::iterator> by_key_;
  uint64_t bytes_ = 0;
  EraVerdict era_;
  std::string server_;
  MemoryCharge server_held_{Held::cache};
};

}  // namespace lineward::upstream
