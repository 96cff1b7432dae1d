// Bodies that a server compresses unasked.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

#include "proxy/upstream/http_client/body_inflater.h"

using namespace lineward::upstream;

namespace {

// `window`: zlib's; 31 is gzip, 15 zlib, -15 neither header.
std::string deflated(const std::string& text, int window) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(text.size() + 1024, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

constexpr size_t kPlenty = 1 << 20;

}  // namespace

TEST_CASE("gzip and deflate are read at whatever byte they are cut") {
  const std::string text = R"({"jsonrpc":"2.0","id":1,"result":{"k":"kkkkkkkkkkkkkkkkkkkkkkkkkkkk"}})";
  for (auto [coding, window] : {std::pair("gzip", 31), {"X-GZIP", 31}, {"deflate", 15}, {"deflate", -15}}) {
    const std::string bytes = deflated(text, window);
    for (size_t cut = 0; cut <= bytes.size(); ++cut) {
      auto inflater = BodyInflater::for_coding(coding);
      REQUIRE(inflater);
      std::string out;
      REQUIRE(inflater->add(bytes.substr(0, cut), kPlenty, out) == BodyInflater::Result::ok);
      CHECK(inflater->finish() == (cut == 0 || cut == bytes.size()));
      REQUIRE(inflater->add(bytes.substr(cut), kPlenty, out) == BodyInflater::Result::ok);
      CHECK(out == text);
      CHECK(inflater->finish());
    }
  }
  CHECK_FALSE(BodyInflater::for_coding("br"));
  CHECK_FALSE(BodyInflater::for_coding("gzip, gzip"));
}

TEST_CASE("a gzip body may have several members, and padding behind the last") {
  auto inflater = BodyInflater::for_coding("gzip");
  std::string out;
  const std::string bytes = deflated("one ", 31) + deflated("two", 31) + std::string(8, '\0');
  REQUIRE(inflater->add(bytes, kPlenty, out) == BodyInflater::Result::ok);
  CHECK(out == "one two");
  CHECK(inflater->finish());
}

TEST_CASE("what a few bytes stand for is bounded, and what is not compressed is broken") {
  auto inflater = BodyInflater::for_coding("gzip");
  std::string out;
  const std::string bomb = deflated(std::string(8 << 20, 'a'), 31);
  CHECK(bomb.size() < 16 * 1024);
  CHECK(inflater->add(bomb, 1 << 20, out) == BodyInflater::Result::too_long);
  CHECK(out.size() <= 1 << 20);
  CHECK(BodyInflater::for_coding("gzip")->add("{\"k\":1}", kPlenty, out) == BodyInflater::Result::broken);
}
