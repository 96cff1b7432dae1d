// A strict decoder of chunked bodies, in requests and in responses alike: extensions by their grammar,
// bounded and ignored (RFC 9112 7.1.1); no trailers in requests, and those of responses are dropped; no sizes
// with more than 16 digits, CRLF and nothing else. Our own, because llhttp takes extensions and trailers of
// any length, shows neither as raw bytes in all its versions, and ends the last chunk at a bare LF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/request_parser.h"

namespace lineward::http {

class ChunkDecoder {
 public:
  enum class Step { more, done, fault };

  // Framing may cost as much as the content and a bit. Chunks of six bytes and more always fit; one-byte
  // chunks are fine in small numbers, and no endless stream of them is.
  static constexpr uint64_t kFreeOverhead = 16 * 1024;
  // For streams, whose length says nothing: each chunk's framing is bounded, their number is not.
  static constexpr uint64_t kAnyOverhead = UINT64_MAX;

  // Trailer fields behind the last chunk: refused, or read over (RFC 9110 6.5.1), up to kMaxTrailerBytes.
  enum class Trailers : bool { refused, dropped };
  static constexpr uint32_t kMaxTrailerBytes = 8 * 1024;

  explicit ChunkDecoder(uint64_t free_overhead = kFreeOverhead, Trailers trailers = Trailers::refused)
      : free_overhead_(free_overhead), trailers_(trailers) {}

  // Takes what belongs to the body off the front of `bytes` and appends the content to `body`. After `done`
  // the rest of `bytes` belongs to the next message.
  Step decode(std::string_view& bytes, std::string& body, uint64_t body_limit);
  // 413: the content has more than the limit; else 400.
  const RequestFault& fault() const { return fault_; }
  void reset();

 private:
  enum class Place {
    size,
    // Of a chunk's extensions: where the next one may begin, its name, its value, what a quoted one holds.
    before_extension,
    before_name,
    name,
    behind_name,
    before_value,
    value,
    quoted,
    escaped,
    behind_quote,
    size_lf,
    data,
    data_cr,
    data_lf,
    end_cr,
    end_lf,
    // Of a trailer field: its name, the rest of its line.
    trailer_name,
    trailer_value,
    trailer_lf
  };

  Step refuse(int status, std::string text);
  Step on_framing_byte(char c, uint64_t body_limit);
  Step on_size_byte(char c);
  Step on_extension_byte(char c);
  bool takes_extension_byte(char c);
  Step on_size_line_end(uint64_t body_limit);
  Step on_end_byte(char c);
  Step on_trailer_byte(char c);

  uint64_t free_overhead_;
  Trailers trailers_;
  Place place_ = Place::size;
  unsigned digits_ = 0;
  unsigned extension_ = 0;  // bytes of this chunk's
  uint32_t trailer_ = 0;    // bytes of all its fields
  uint64_t left_ = 0;       // of this chunk; its size while it is being read
  uint64_t content_ = 0;    // bytes of it so far, of chunks whose size was read
  uint64_t overhead_ = 0;   // bytes that were not content
  RequestFault fault_;
};

}  // namespace lineward::http
