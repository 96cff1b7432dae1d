// Inflates bodies that a server has compressed although identity was requested (RFC 9110 8.4.1): gzip and
// deflate, piece by piece. The output of each piece is bounded: a few bytes can expand to gigabytes.
//
// Owned by a transfer. No callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lineward::upstream {

class BodyInflater {
 public:
  // Null: the coding is not supported.
  static std::unique_ptr<BodyInflater> for_coding(std::string_view coding);
  ~BodyInflater();
  BodyInflater(const BodyInflater&) = delete;
  BodyInflater& operator=(const BodyInflater&) = delete;

  enum class Result : uint8_t { ok, broken, too_long };
  // Appends the inflated piece to `out`, `most` bytes at most.
  Result add(std::string_view piece, size_t most, std::string& out);
  // The body has ended: was it complete? An empty one is.
  bool finish() const { return ended_ || !begun_; }

 private:
  struct Stream;
  explicit BodyInflater(bool gzip);
  bool begin(char first);

  std::unique_ptr<Stream> stream_;
  const bool gzip_;
  bool begun_ = false;
  bool ended_ = false;  // the compressed data is over; padding or another gzip member may follow
};

}  // namespace lineward::upstream
