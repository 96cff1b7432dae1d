// Verifies audit logs: detects records that were changed, cut off, inserted, swapped or removed, and invalid
// signatures. Reads line by line, so that memory does not depend on the file size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "proxy/audit/signing.h"

namespace lineward::audit {

struct VerifyOptions {
  std::vector<SigningKey> keys;  // keys that checkpoints may be signed with; empty: signatures are not
                                 // checked
  bool closed = false;           // the last file must end with its closing record
  // A record with this number and hash, noted elsewhere, must be in the log.
  uint64_t known_seq = 0;
  std::string known_hash;
};

// A message about a position.
struct Remark {
  std::string file;
  uint64_t line = 0;  // 0: the whole file
  uint64_t seq = 0;   // number of the record; 0: none
  std::string text;
};

struct Verdict {
  static constexpr size_t kMaxRemarks = 100;

  std::vector<Remark> findings;  // in chain order: the first is where the chain broke. Bounded
  uint64_t found = 0;            // total number of findings
  std::vector<Remark> notes;     // harmless facts
  size_t files = 0;
  uint64_t records = 0, checkpoints = 0, first = 0, last = 0;
  uint64_t unsigned_records = 0;  // after the last valid checkpoint
  std::string last_hash;
  bool whole() const { return found == 0; }
};

// Files in any order: their record numbers define the sequence. Fails if a file cannot be read.
Result<Verdict> verify(const std::vector<std::string>& files, const VerifyOptions& options);

}  // namespace lineward::audit
