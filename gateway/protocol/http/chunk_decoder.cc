#include "protocol/http/chunk_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "protocol/http/char_class.h"

namespace lineward::http {

namespace {

constexpr unsigned kMaxSizeDigits = 16;  // 64 bits
constexpr unsigned kMaxExtensionBytes = 1024;

bool is_white_space(char c) {
  return c == ' ' || c == '\t';
}

// RFC 9110 5.6.4. Excludes CR and LF: inside a quoted string, another parser could take them for the end of
// the line.
bool may_be_quoted(char c) {
  return c == '\t' || !is_control(c);
}

}  // namespace

void ChunkDecoder::reset() {
  place_ = Place::size;
  digits_ = extension_ = 0;
  trailer_ = 0;
  left_ = content_ = overhead_ = 0;
}

ChunkDecoder::Step ChunkDecoder::refuse(int status, std::string text) {
  fault_ = {.text = std::move(text), .code = status};
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
    Step step = on_framing_byte(c, body_limit);
    if (step != Step::more) return step;
  }
  return Step::more;
}

ChunkDecoder::Step ChunkDecoder::on_framing_byte(char c, uint64_t body_limit) {
  switch (place_) {
    case Place::size: return on_size_byte(c);
    case Place::size_lf:
      if (c != '\n') return refuse(400, "The line of a chunk's size must end with CR and LF.");
      return on_size_line_end(body_limit);
    case Place::data_cr:
      if (c != '\r') return refuse(400, "A chunk must end with CR and LF right behind its data.");
      place_ = Place::data_lf;
      return Step::more;
    case Place::data_lf:
      if (c != '\n') return refuse(400, "A chunk must end with CR and LF right behind its data.");
      place_ = Place::size;
      digits_ = extension_ = 0;
      left_ = 0;
      return Step::more;
    case Place::end_cr: return on_end_byte(c);
    case Place::end_lf:
      if (c != '\n') return refuse(400, "A chunked body must end with CR and LF.");
      return Step::done;
    case Place::trailer_name:
    case Place::trailer_value:
    case Place::trailer_lf: return on_trailer_byte(c);
    case Place::data: break;  // handled by decode()
    default: return on_extension_byte(c);
  }
  return refuse(400, "The chunked body is not valid.");
}

ChunkDecoder::Step ChunkDecoder::on_end_byte(char c) {
  if (c == '\r') {
    place_ = Place::end_lf;
    return Step::more;
  }
  if (trailers_ == Trailers::refused) return refuse(400, "Trailer fields are not accepted.");
  if (!is_tchar(c)) return refuse(400, "A trailer field must begin with its name.");
  ++trailer_;
  place_ = Place::trailer_name;
  return Step::more;
}

// field-line = field-name ":" OWS field-value OWS, followed by CRLF.
ChunkDecoder::Step ChunkDecoder::on_trailer_byte(char c) {
  if (++trailer_ > kMaxTrailerBytes) {
    return refuse(400, fmt::format("The trailer fields must not have more than {} bytes.", kMaxTrailerBytes));
  }
  switch (place_) {
    case Place::trailer_name:
      if (c == ':') place_ = Place::trailer_value;
      if (c == ':' || is_tchar(c)) return Step::more;
      return refuse(400, "A trailer field must have a name and a colon.");
    case Place::trailer_value:
      if (c == '\r') place_ = Place::trailer_lf;
      if (c == '\r' || c == '\t' || !is_control(c)) return Step::more;
      return refuse(400, "A trailer field must not hold control characters.");
    default:
      if (c != '\n') return refuse(400, "A trailer field must end with CR and LF.");
      place_ = Place::end_cr;
      return Step::more;
  }
}

ChunkDecoder::Step ChunkDecoder::on_size_byte(char c) {
  int digit = hex_value(c);
  if (digit >= 0) {
    if (++digits_ > kMaxSizeDigits) {
      return refuse(400, fmt::format("A chunk size must not have more than {} digits.", kMaxSizeDigits));
    }
    left_ = (left_ << 4) | static_cast<uint64_t>(digit);
    return Step::more;
  }
  if (digits_ == 0) return refuse(400, "A chunk must start with its size in hexadecimal digits.");
  if (c == '\r') {
    place_ = Place::size_lf;
    return Step::more;
  }
  if (c != ';' && !is_white_space(c))
    return refuse(400, "A chunk size must be hexadecimal digits and end with CR and LF.");
  place_ = Place::before_extension;
  return on_extension_byte(c);
}

ChunkDecoder::Step ChunkDecoder::on_extension_byte(char c) {
  const bool may_end = place_ == Place::name || place_ == Place::value || place_ == Place::behind_quote;
  if (c == '\r' && may_end) {
    place_ = Place::size_lf;
    return Step::more;
  }
  if (++extension_ > kMaxExtensionBytes) {
    return refuse(
        400, fmt::format("The extensions of a chunk must not have more than {} bytes.", kMaxExtensionBytes));
  }
  if (takes_extension_byte(c)) return Step::more;
  return refuse(400, "A chunk size may be followed by extensions (;name=value) and must end with CR and LF.");
}

// chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
bool ChunkDecoder::takes_extension_byte(char c) {
  switch (place_) {
    case Place::quoted:
      if (c == '"') place_ = Place::behind_quote;
      if (c == '\\') place_ = Place::escaped;
      return may_be_quoted(c);
    case Place::escaped: place_ = Place::quoted; return may_be_quoted(c);
    case Place::before_name:
      if (is_tchar(c)) place_ = Place::name;
      return is_tchar(c) || is_white_space(c);
    case Place::before_value:
      if (is_tchar(c)) place_ = Place::value;
      if (c == '"') place_ = Place::quoted;
      return is_tchar(c) || c == '"' || is_white_space(c);
    default: break;
  }
  const bool named = place_ == Place::name || place_ == Place::behind_name;
  if (is_tchar(c)) return place_ == Place::name || place_ == Place::value;
  if (is_white_space(c)) {
    place_ = named ? Place::behind_name : Place::before_extension;
    return true;
  }
  if (c == '=' && named) {
    place_ = Place::before_value;
    return true;
  }
  place_ = Place::before_name;
  return c == ';';
}

ChunkDecoder::Step ChunkDecoder::on_size_line_end(uint64_t body_limit) {
  if (left_ > body_limit - content_) {
    return refuse(413, fmt::format("The request body must not have more than {} bytes.", body_limit));
  }
  if (overhead_ > free_overhead_ && overhead_ - free_overhead_ > content_)
    return refuse(400, "The request body has too many small chunks.");
  content_ += left_;
  place_ = left_ == 0 ? Place::end_cr : Place::data;
  return Step::more;
}

}  // namespace lineward::http
