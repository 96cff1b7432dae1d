// A strict decoder of chunked request bodies: no extensions, no trailers, no sizes with more than 16 digits,
// CRLF and nothing else. Our own, because llhttp takes extensions and trailers of any length, shows neither
// as raw bytes in all its versions, and ends the last chunk at a bare LF. What is left without these is a
// dozen lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/request_parser.h"

namespace lineward::http {

class ChunkDecoder {
 public:
  enum class Step { more, done, fault };

  // Takes what belongs to the body off the front of `bytes` and appends the content to `body`, which holds
  // nothing else. After `done` the rest of `bytes` belongs to the next request.
  Step decode(std::string_view& bytes, std::string& body, uint64_t body_limit);
  const RequestFault& fault() const { return fault_; }
  void reset();

 private:
  enum class Place { size, size_lf, data, data_cr, data_lf, end_cr, end_lf };

  Step refuse(int status, std::string text);
  Step on_framing_byte(char c, size_t body_size, uint64_t body_limit);
  Step on_size_line_end(size_t body_size, uint64_t body_limit);

  Place place_ = Place::size;
  unsigned digits_ = 0;
  uint64_t left_ = 0;      // of this chunk; its size while it is being read
  uint64_t overhead_ = 0;  // bytes that were not content
  RequestFault fault_;
};

}  // namespace lineward::http
