// A strict decoder of chunked bodies, for requests and responses. Extensions are parsed, bounded and ignored
// (RFC 9112 7.1.1). Trailers are refused in requests and dropped in responses. Sizes have at most 16 digits,
// and lines end in CRLF only. Unlike this decoder, llhttp accepts extensions and trailers of any length, and
// ends the last chunk at a bare LF. Not all its versions show extensions and trailers as raw bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/http/request_parser.h"

namespace lineward::http {

class ChunkDecoder {
 public:
  enum class Step { more, done, fault };

  // Framing may take as many bytes as the content, plus this. Chunks of six bytes and more always fit;
  // one-byte chunks only in small numbers.
  static constexpr uint64_t kFreeOverhead = 16 * 1024;
  // For streams of unknown length: each chunk's framing is bounded, their number is not.
  static constexpr uint64_t kAnyOverhead = UINT64_MAX;

  // Trailer fields after the last chunk: refused, or skipped (RFC 9110 6.5.1), up to kMaxTrailerBytes.
  enum class Trailers : bool { refused, dropped };
  static constexpr uint32_t kMaxTrailerBytes = 8 * 1024;

  explicit ChunkDecoder(uint64_t free_overhead = kFreeOverhead, Trailers trailers = Trailers::refused)
      : free_overhead_(free_overhead), trailers_(trailers) {}

  // Consumes the body's bytes from the front of `bytes` and appends the content to `body`. After `done` the
  // rest of `bytes` belongs to the next message.
  Step decode(std::string_view& bytes, std::string& body, uint64_t body_limit);
  // 413: the content exceeds the limit; else 400.
  const Error& fault() const { return fault_; }
  void reset();

 private:
  enum class Place {
    size,
    // A chunk extension: where the next one may begin, its name, its value, a quoted value.
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
    // A trailer field: its name, the rest of its line.
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
  unsigned extension_ = 0;  // bytes of this chunk's extensions
  uint32_t trailer_ = 0;    // bytes of all trailer fields
  uint64_t left_ = 0;       // bytes of this chunk; its size while it is being read
  uint64_t content_ = 0;    // bytes so far, of chunks with a known size
  uint64_t overhead_ = 0;   // bytes that were not content
  Error fault_;
};

}  // namespace lineward::http
