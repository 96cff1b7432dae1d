// The decoder of chunked bodies. First any bytes, cut anywhere: the same outcome as in one piece, within the
// limit. Then bytes as content: what is framed by the rules comes back, and what follows it is left alone.
// The first byte chooses the limit, the second where the cuts fall.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "protocol/http/chunk_decoder.h"

using lineward::http::ChunkDecoder;
using Step = ChunkDecoder::Step;

namespace {

struct Outcome {
  Step step = Step::more;
  int status = 0;
  std::string text;
  std::string body;
  std::string rest;
  bool operator==(const Outcome&) const = default;
};

Outcome decode(std::string_view bytes, uint64_t limit, unsigned cut, bool whole) {
  ChunkDecoder decoder;
  Outcome out;
  while (!bytes.empty() && out.step == Step::more) {
    size_t take = whole ? bytes.size() : std::min<size_t>(1 + cut % 13, bytes.size());
    cut = cut * 31 + static_cast<unsigned char>(bytes.front());
    std::string_view piece = bytes.substr(0, take);
    out.step = decoder.decode(piece, out.body, limit);
    LW_CHECK(out.body.size() <= limit);
    LW_CHECK(out.step != Step::more || piece.empty());
    bytes.remove_prefix(take - piece.size());
  }
  if (out.step == Step::done) out.rest = bytes;
  if (out.step == Step::fault) {
    out.status = decoder.fault().code;
    out.text = decoder.fault().text;
    LW_CHECK((out.status == 400 || out.status == 413) && !out.text.empty());
  }
  return out;
}

std::string framed(std::string_view content, unsigned cut) {
  std::string out;
  char size[32];
  while (!content.empty()) {
    size_t take = std::min<size_t>(6 + cut % 60, content.size());
    cut = cut * 31 + static_cast<unsigned char>(content.front());
    // Extensions count as framing: only large chunks have room for them.
    const char* form = take > 40 && cut & 32 ? "%zx;a=\"b;\\\"\" ; c\r\n"
                       : cut & 64            ? "%zx\r\n"
                                             : "00%zX\r\n";
    std::snprintf(size, sizeof size, form, take);
    out += size;
    out += content.substr(0, take);
    out += "\r\n";
    content.remove_prefix(take);
  }
  return out + "0\r\n\r\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t limit = data[0] & 1 ? data[0] : 8u << 20;
  const unsigned cut = data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  const Outcome whole = decode(bytes, limit, cut, true);
  LW_CHECK(whole == decode(bytes, limit, cut, false));

  const std::string_view next = "POST / HTTP/1.1\r\n";
  const std::string body = framed(bytes, cut) + std::string(next);
  const Outcome content = decode(body, limit, cut, false);
  if (bytes.size() > limit) {
    LW_CHECK(content.step == Step::fault && content.status == 413);
  } else {
    // The last piece may reach into what follows: the rest then starts at its first byte all the same.
    LW_CHECK(content.step == Step::done && content.body == bytes && content.rest == next);
  }
  return 0;
}
