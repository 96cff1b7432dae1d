// The canonical form of a record, and how each is chained to the one before. One line of JSON, in this order:
//
//   {"seq":12,"time":"…","type":"call",…,"prev":"HASH","hash":"HASH"}
//
// `hash` is the SHA-256, in hexadecimal digits, of all bytes of the line before `,"hash":`; `prev` is the
// hash of record `seq` - 1, 64 zeros in the first one. So the bytes of the line are the canonical form: a
// blank more is another record. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::audit {

inline constexpr std::string_view kNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";
// Of one line; longer ones are none of ours.
inline constexpr size_t kMaxLine = 1 << 20;

std::string sha256_hex(std::string_view text);

class Chain {
 public:
  Chain() = default;
  // Goes on behind record `seq`, whose hash that is.
  Chain(uint64_t seq, std::string hash) : seq_(seq), hash_(std::move(hash)) {}

  // The line of the next record, with its newline. `body`: members without braces; not empty.
  std::string seal(std::string_view body);
  // Of the last one.
  uint64_t seq() const { return seq_; }
  const std::string& hash() const { return hash_; }

 private:
  uint64_t seq_ = 0;
  std::string hash_{kNoHash};
};

// A line as a record; the views are into the line.
struct Record {
  uint64_t seq = 0;
  std::string_view type;
  std::string_view why;  // of an `open` and a `close`
  std::string_view prev, hash;
  bool whole = false;  // the hash is that of its bytes
};
// Without its newline. Nothing when it has not the form of one.
std::optional<Record> read_record(std::string_view line);

}  // namespace lineward::audit
