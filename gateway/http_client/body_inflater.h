// Reads bodies that a server has compressed though it was asked for identity (RFC 9110 8.4.1): gzip and
// deflate, piece by piece as they come. What one piece becomes is bounded: a few bytes can stand for
// gigabytes.
//
// Owned by a transfer. Calls nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lineward::upstream {

class BodyInflater {
 public:
  // Null: this coding is none that is read.
  static std::unique_ptr<BodyInflater> for_coding(std::string_view coding);
  ~BodyInflater();
  BodyInflater(const BodyInflater&) = delete;
  BodyInflater& operator=(const BodyInflater&) = delete;

  enum class Result : uint8_t { ok, broken, too_long };
  // Appends what the piece says to `out`, `most` bytes at most.
  Result add(std::string_view piece, size_t most, std::string& out);
  // The body is over: whether it was whole. An empty one is.
  bool finish() const { return ended_ || !begun_; }

 private:
  struct Stream;
  explicit BodyInflater(bool gzip);
  bool begin(char first);

  std::unique_ptr<Stream> stream_;
  const bool gzip_;
  bool begun_ = false;
  bool ended_ = false;  // the compressed data is over; what follows is padding, or another member of gzip
};

}  // namespace lineward::upstream
