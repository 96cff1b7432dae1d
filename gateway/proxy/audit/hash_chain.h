// The canonical form of a record, and its link to the previous one. A record is one line of JSON, in this
// order:
//
//   {"seq":12,"time":"…","type":"call",…,"prev":"HASH","hash":"HASH"}
//
// `hash` is the SHA-256, in hexadecimal digits, of all bytes of the line before `,"hash":`. `prev` is the
// hash of record `seq` - 1, 64 zeros in the first one. The bytes of the line are the canonical form: an
// additional space makes another record. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::audit {

inline constexpr std::string_view kNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";
// Maximum length of a line; longer ones are not records.
inline constexpr size_t kMaxLine = 1 << 20;

std::string sha256_hex(std::string_view text);

class HashChain {
 public:
  HashChain() = default;
  // Continues after record `seq` with hash `hash`.
  HashChain(uint64_t seq, std::string hash) : seq_(seq), hash_(std::move(hash)) {}

  // The line of the next record, with its newline. `body`: members without braces; not empty.
  std::string seal(std::string_view body);
  // The last record's number.
  uint64_t seq() const { return seq_; }
  const std::string& hash() const { return hash_; }

 private:
  uint64_t seq_ = 0;
  std::string hash_{kNoHash};
};

// A line parsed as a record; the views refer to the line.
struct Record {
  uint64_t seq = 0;
  std::string_view type;
  std::string_view why;  // of an `open` and a `close`
  std::string_view prev, hash;
  bool whole = false;  // the hash matches the bytes
};
// `line` without its newline. nullopt if it does not have the form of a record.
std::optional<Record> read_record(std::string_view line);

}  // namespace lineward::audit
