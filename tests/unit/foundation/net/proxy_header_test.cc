#include "foundation/net/proxy_header.h"

#include <catch2/catch.hpp>

using namespace lineward::net;
using State = ProxyHeader::State;

namespace {

constexpr std::string_view kSignature("\r\n\r\n\0\r\nQUIT\n", 12);

// A head of version 2, and what stands behind it.
std::string v2(char version_and_command, char family, const std::string& behind) {
  std::string out(kSignature);
  out += version_and_command;
  out += family;
  out += static_cast<char>(behind.size() >> 8);
  out += static_cast<char>(behind.size() & 0xff);
  return out + behind;
}

const std::string kV4("\xc0\x00\x02\x07\xc6\x33\x64\x01\x12\x67\x01\xbb", 12);
const std::string kV6 = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + '\x01' +
                        std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + '\x02' +
                        std::string("\x12\x67\x01\xbb", 4);

std::string tlv(char type, const std::string& value) {
  return std::string(1, type) + static_cast<char>(value.size() >> 8) +
         static_cast<char>(value.size() & 0xff) + value;
}

// However the bytes are cut, the outcome is the same, and what follows is not touched.
ProxyHeader read(const std::string& header, const std::string& behind = "GET / HTTP/1.1\r\n") {
  const std::string all = header + behind;
  ProxyHeader whole;
  const size_t used = whole.feed(all);
  if (whole.state() == State::done) CHECK(used == header.size());
  ProxyHeader split;
  size_t at = 0;
  while (at < all.size() && split.state() == State::more)
    at += split.feed(std::string_view(all).substr(at, 1));
  CHECK(split.state() == whole.state());
  CHECK(split.client() == whole.client());
  CHECK(split.fault() == whole.fault());
  CHECK(at == used);
  return whole;
}

std::string client_of(const std::string& header) {
  ProxyHeader read_one = read(header);
  REQUIRE(read_one.state() == State::done);
  return read_one.client();
}

std::string fault_of(const std::string& header) {
  ProxyHeader read_one = read(header);
  CHECK(read_one.state() == State::failed);
  CHECK(read_one.client().empty());
  return std::string(read_one.fault());
}

}  // namespace

TEST_CASE("version 1 tells an address, or none") {
  CHECK(client_of("PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n") == "192.0.2.7:4711");
  CHECK(client_of("PROXY TCP6 2001:db8::1 2001:db8::2 4711 443\r\n") == "[2001:db8::1]:4711");
  CHECK(client_of("PROXY TCP4 192.0.2.7 198.51.100.1 0 65535\r\n") == "192.0.2.7:0");
  CHECK(client_of("PROXY UNKNOWN\r\n").empty());
  CHECK(client_of("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n").empty());
}

TEST_CASE("version 1 is read strictly") {
  for (const char* line : {
           "PROXY TCP4 192.0.2.7 198.51.100.1 4711\r\n",
           "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443 \r\n",
           "PROXY TCP4  192.0.2.7 198.51.100.1 4711 443\r\n",
           "PROXY TCP4 192.0.2.7 198.51.100.1 04711 443\r\n",
           "PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n",
           "PROXY TCP4 192.0.2.7 198.51.100.1 -1 443\r\n",
           "PROXY TCP4 192.0.2.7 198.51.100.1 1 \r\n",
           "PROXY TCP4 192.0.2 198.51.100.1 1 2\r\n",
           "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
           "PROXY TCP4 192.0.2.7 2001:db8::2 1 2\r\n",
           "PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n",
           "PROXY TCP4\r\n",
           "PROXY TCP4 \r\n",
       })
    CHECK(fault_of(line).find("malformed addresses") != std::string::npos);
  CHECK(fault_of("PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n").find("TCP4") != std::string::npos);
  CHECK(fault_of("PROXY \r\n").find("TCP4") != std::string::npos);
  CHECK(fault_of("PROXY UNKNOWN\n").find("CR LF") != std::string::npos);
  CHECK(fault_of("PROXY UNKNOWN " + std::string(200, 'x')).find("107") != std::string::npos);
  CHECK(client_of("PROXY UNKNOWN " + std::string(91, 'x') + "\r\n").empty());  // 107 bytes
  CHECK(fault_of("PROXY UNKNOWN " + std::string(92, 'x') + "\r\n").find("107") != std::string::npos);
}

TEST_CASE("what is no PROXY header is known by its first wrong byte") {
  for (const char* first : {"GET / HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\n",
                            "\x16\x03\x01", "proxy TCP4", " PROXY", "\r\n\r\nGET"}) {
    ProxyHeader header;
    header.feed(first);
    CHECK(header.state() == State::failed);
    CHECK(header.fault() == "the connection does not begin with a PROXY header");
  }
  ProxyHeader none;
  CHECK_FALSE(none.begun());
  CHECK(none.feed("PROXY TCP4") == 10);
  CHECK(none.state() == State::more);
  CHECK(none.begun());
}

TEST_CASE("version 2 tells an address, or none") {
  CHECK(client_of(v2('\x21', '\x11', kV4)) == "192.0.2.7:4711");
  CHECK(client_of(v2('\x21', '\x21', kV6)) == "[2001:db8::1]:4711");
  CHECK(client_of(v2('\x21', '\x31', std::string(216, 'x'))).empty());
  CHECK(client_of(v2('\x21', '\0', "")).empty());
  CHECK(client_of(v2('\x20', '\0', "")).empty());
  // LOCAL: whatever else it says has no meaning.
  CHECK(client_of(v2('\x20', '\x11', kV4)).empty());
  CHECK(client_of(v2('\x20', '\x7f', "xyz")).empty());
}

TEST_CASE("version 2 passes over TLVs that fill it exactly") {
  const std::string tlvs =
      tlv('\x01', "h2") + tlv('\x04', "") + tlv('\x20', std::string(300, 'y')) + tlv('\x04', "");
  CHECK(client_of(v2('\x21', '\x11', kV4 + tlvs)) == "192.0.2.7:4711");
  CHECK(client_of(v2('\x21', '\0', tlvs)).empty());
  CHECK(client_of(v2('\x21', '\x11', kV4 + tlv('\x20', std::string(4096 - 12 - 3, 'y')))) ==
        "192.0.2.7:4711");
  CHECK(fault_of(v2('\x21', '\x11', kV4 + tlv('\x20', "abc").substr(0, 5))).find("longer") !=
        std::string::npos);
  CHECK(fault_of(v2('\x21', '\x11', kV4 + "\x01")).find("cut off") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x11', kV4 + std::string("\x01\x00", 2))).find("cut off") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x11', kV4 + "\x01\xff\xff")).find("longer") != std::string::npos);
}

TEST_CASE("version 2 is bounded, and for streams alone") {
  CHECK(fault_of(v2('\x21', '\x11', kV4 + std::string(4085, 'x'))).find("4096") != std::string::npos);
  CHECK(fault_of(v2('\x11', '\x11', kV4)).find("version") != std::string::npos);
  CHECK(fault_of(v2('\x22', '\x11', kV4)).find("command") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x12', kV4)).find("stream") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x41', kV4)).find("stream") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x11', kV4.substr(1))).find("shorter") != std::string::npos);
  CHECK(fault_of(v2('\x21', '\x21', kV4)).find("shorter") != std::string::npos);
}
