#include "proxy/upstream/http_client/body_inflater.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "protocol/http/header_list.h"

namespace lineward::upstream {
namespace {

constexpr size_t kInflateStep = 16 * 1024;
constexpr int kWindow = 15;
constexpr int kWithGzipHeader = 16;

}  // namespace

struct BodyInflater::Stream {
  z_stream z{};
};

std::unique_ptr<BodyInflater> BodyInflater::for_coding(std::string_view coding) {
  coding = http::trim_white_space(coding);
  const bool gzip =
      http::equals_ignoring_case(coding, "gzip") || http::equals_ignoring_case(coding, "x-gzip");
  if (!gzip && !http::equals_ignoring_case(coding, "deflate")) return nullptr;
  return std::unique_ptr<BodyInflater>(new BodyInflater(gzip));
}

BodyInflater::BodyInflater(bool gzip) : gzip_(gzip) {}

BodyInflater::~BodyInflater() {
  if (stream_) inflateEnd(&stream_->z);
}

// "deflate" has a zlib header by the standard; some servers omit it.
bool BodyInflater::begin(char first) {
  begun_ = true;
  stream_ = std::make_unique<Stream>();
  const bool has_header = (first & 0x0f) == 8 && static_cast<unsigned char>(first) <= 0x78;
  const int window = gzip_ ? kWindow + kWithGzipHeader : has_header ? kWindow : -kWindow;
  if (inflateInit2(&stream_->z, window) == Z_OK) return true;
  stream_.reset();
  return false;
}

BodyInflater::Result BodyInflater::add(std::string_view piece, size_t most, std::string& out) {
  if (piece.empty()) return Result::ok;
  if (!begun_ && !begin(piece.front())) return Result::broken;
  if (!stream_) return Result::broken;
  z_stream& z = stream_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  z.avail_in = static_cast<uInt>(piece.size());
  std::array<char, kInflateStep> step;
  for (;;) {
    if (ended_) {
      const bool another = gzip_ && z.avail_in > 0 && *z.next_in == 0x1f;
      if (!another) return Result::ok;
      if (inflateReset(&z) != Z_OK) return Result::broken;
      ended_ = false;
    }
    z.next_out = reinterpret_cast<Bytef*>(step.data());
    z.avail_out = static_cast<uInt>(step.size());
    const int said = inflate(&z, Z_NO_FLUSH);
    const size_t got = step.size() - z.avail_out;
    if (got > most - std::min(most, out.size())) return Result::too_long;
    out.append(step.data(), got);
    if (said == Z_STREAM_END) {
      ended_ = true;
    } else if (said != Z_OK && said != Z_BUF_ERROR) {
      return Result::broken;
    } else if (z.avail_out > 0) {
      return Result::ok;  // it needs more input
    }
  }
}

}  // namespace lineward::upstream
