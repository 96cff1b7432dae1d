// Reads audit logs again and finds what is not as it was written: records that were changed, cut off, put in,
// swapped or taken out, and signatures that do not fit. Reads a line at a time, whatever the size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/signing.h"
#include "base/result.h"

namespace lineward::audit {

struct VerifyOptions {
  std::vector<SigningKey> keys;  // that checkpoints may be signed with; empty: signatures are not looked at
  bool closed = false;           // the last file must end with its closing record
  // A record whose number and hash were noted elsewhere must be among them.
  uint64_t known_seq = 0;
  std::string known_hash;
};

// Something at a place.
struct Remark {
  std::string file;
  uint64_t line = 0;  // 0: of the file as a whole
  uint64_t seq = 0;   // of the record that it is about; 0: of none
  std::string text;
};

struct Verdict {
  static constexpr size_t kMaxRemarks = 100;

  std::vector<Remark>
      findings;               // in the order of the chain: the first one is where it broke. At most so many
  uint64_t found = 0;         // how many there are
  std::vector<Remark> notes;  // what is honest and worth knowing
  size_t files = 0;
  uint64_t records = 0, checkpoints = 0, first = 0, last = 0;
  uint64_t unsigned_records = 0;  // behind the last checkpoint that fits
  std::string last_hash;
  bool whole() const { return found == 0; }
};

// In any order: the numbers of their records say which follows which. The error: a file that cannot be read.
Result<Verdict> verify(const std::vector<std::string>& files, const VerifyOptions& options);

}  // namespace lineward::audit
