#include "http/chunk_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "http/char_class.h"

namespace lineward::http {

namespace {

constexpr unsigned kMaxSizeDigits = 16;  // 64 bits
// Framing may cost as much as the content and a bit. Chunks of six bytes and more always fit; one-byte chunks
// are fine in small numbers, and no endless stream of them is.
constexpr uint64_t kFreeOverhead = 16 * 1024;

}  // namespace

void ChunkDecoder::reset() {
  place_ = Place::size;
  digits_ = 0;
  left_ = 0;
  overhead_ = 0;
}

ChunkDecoder::Step ChunkDecoder::refuse(int status, std::string text) {
  fault_ = {status, std::move(text)};
  return Step::fault;
}

ChunkDecoder::Step ChunkDecoder::decode(std::string_view& bytes, std::string& body, uint64_t body_limit) {
  while (!bytes.empty()) {
    if (place_ == Place::data) {
      size_t take = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size()));
      body.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      left_ -= take;
      if (left_ == 0) place_ = Place::data_cr;
      continue;
    }
    char c = bytes.front();
    bytes.remove_prefix(1);
    ++overhead_;
    Step step = on_framing_byte(c, body.size(), body_limit);
    if (step != Step::more) return step;
  }
  return Step::more;
}

ChunkDecoder::Step ChunkDecoder::on_framing_byte(char c, size_t body_size, uint64_t body_limit) {
  switch (place_) {
    case Place::size: {
      int digit = hex_value(c);
      if (digit >= 0) {
        if (++digits_ > kMaxSizeDigits) {
          return refuse(400, fmt::format("A chunk size must not have more than {} digits.", kMaxSizeDigits));
        }
        left_ = (left_ << 4) | static_cast<uint64_t>(digit);
        return Step::more;
      }
      if (digits_ == 0) return refuse(400, "A chunk must start with its size in hexadecimal digits.");
      if (c == ';') return refuse(400, "Chunk extensions are not accepted.");
      if (c != '\r') return refuse(400, "A chunk size must be hexadecimal digits and end with CR and LF.");
      place_ = Place::size_lf;
      return Step::more;
    }
    case Place::size_lf:
      if (c != '\n') return refuse(400, "A chunk size must be hexadecimal digits and end with CR and LF.");
      return on_size_line_end(body_size, body_limit);
    case Place::data_cr:
      if (c != '\r') return refuse(400, "A chunk must end with CR and LF right behind its data.");
      place_ = Place::data_lf;
      return Step::more;
    case Place::data_lf:
      if (c != '\n') return refuse(400, "A chunk must end with CR and LF right behind its data.");
      place_ = Place::size;
      digits_ = 0;
      left_ = 0;
      return Step::more;
    case Place::end_cr:
      if (c != '\r') return refuse(400, "Trailer fields are not accepted.");
      place_ = Place::end_lf;
      return Step::more;
    case Place::end_lf:
      if (c != '\n') return refuse(400, "A chunked body must end with CR and LF.");
      return Step::done;
    case Place::data: break;  // decode() takes these
  }
  return refuse(400, "The chunked body is not valid.");
}

ChunkDecoder::Step ChunkDecoder::on_size_line_end(size_t body_size, uint64_t body_limit) {
  if (left_ > body_limit - body_size) {
    return refuse(413, fmt::format("The request body must not have more than {} bytes.", body_limit));
  }
  if (overhead_ > kFreeOverhead + body_size)
    return refuse(400, "The request body has too many small chunks.");
  place_ = left_ == 0 ? Place::end_cr : Place::data;
  return Step::more;
}

}  // namespace lineward::http
