#include "foundation/net/proxy_header.h"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "foundation/net/networks.h"

namespace lineward::net {
namespace {

constexpr std::string_view kText = "PROXY ";
constexpr size_t kMostLine = 107;  // with its line end
constexpr std::string_view kBinary("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t kHead = 16;
constexpr size_t kTlvHead = 3;
constexpr std::string_view kNoHeader = "the connection does not begin with a PROXY header";

uint8_t at(std::string_view bytes, size_t index) {
  return static_cast<uint8_t>(bytes[index]);
}

size_t number_at(std::string_view bytes, size_t index) {
  return static_cast<size_t>(at(bytes, index)) << 8 | at(bytes, index + 1);
}

// As the protocol wants it: decimal, without zeros in front.
std::optional<uint16_t> read_port(std::string_view text) {
  uint16_t port = 0;
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

// "TCP4 192.0.2.7 198.51.100.1 4711 443", without the word in front and its blank.
std::optional<std::string> read_line(std::string_view rest, bool v4) {
  std::array<std::string_view, 4> words;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t blank = rest.find(' ');
    if ((blank == std::string_view::npos) != (i + 1 == words.size())) return std::nullopt;
    words[i] = rest.substr(0, blank);
    if (blank != std::string_view::npos) rest.remove_prefix(blank + 1);
  }
  auto from = IpAddress::parse(words[0]), to = IpAddress::parse(words[1]);
  auto port = read_port(words[2]), to_port = read_port(words[3]);
  if (!from || !to || !port || !to_port) return std::nullopt;
  const auto fits = [&](std::string_view word) { return (word.find(':') == std::string_view::npos) == v4; };
  if (!fits(words[0]) || !fits(words[1])) return std::nullopt;
  return from->as_peer(*port);
}

}  // namespace

size_t ProxyHeader::feed(std::string_view bytes) {
  size_t used = 0;
  for (; used < bytes.size() && state_ == State::more; ++used)
    take(bytes[used]);
  return used;
}

void ProxyHeader::take(char byte) {
  ++taken_;
  const bool binary = (kept_.empty() ? byte : kept_.front()) == kBinary.front();
  binary ? take_v2(byte) : take_v1(byte);
}

void ProxyHeader::take_v1(char byte) {
  kept_ += byte;
  if (kept_.size() <= kText.size()) {
    if (byte != kText[kept_.size() - 1]) fail(kNoHeader);
    return;
  }
  if (byte != '\n') {
    if (kept_.size() >= kMostLine) fail("the line of the PROXY header has more than 107 bytes");
    return;
  }
  std::string_view line(kept_);
  if (line[line.size() - 2] != '\r') return fail("the line of the PROXY header does not end with CR LF");
  line = line.substr(kText.size(), line.size() - kText.size() - 2);
  const std::string_view family = line.substr(0, line.find(' '));
  if (family == "UNKNOWN") {  // the rest of such a line has no meaning
    state_ = State::done;
    return;
  }
  if (family != "TCP4" && family != "TCP6")
    return fail("the PROXY header is neither for TCP4, TCP6 nor UNKNOWN");
  auto client = line.size() > family.size() ? read_line(line.substr(family.size() + 1), family == "TCP4")
                                            : std::nullopt;
  if (!client) return fail("the PROXY header has malformed addresses or ports");
  client_ = std::move(*client);
  state_ = State::done;
}

void ProxyHeader::take_v2(char byte) {
  if (taken_ <= kHead) {
    kept_ += byte;
    if (taken_ <= kBinary.size() && byte != kBinary[taken_ - 1]) return fail(kNoHeader);
    if (taken_ == kHead) head_v2();
    return;
  }
  const size_t behind = taken_ - kHead;
  if (!discards_) {
    if (behind <= addresses_) {
      kept_ += byte;
      if (behind == addresses_) address_v2();
    } else {
      tlv(byte);
    }
  }
  if (state_ != State::more || behind < length_) return;
  if (tlv_at_ > 0) return fail("the last TLV of the PROXY header is cut off");
  state_ = State::done;
}

void ProxyHeader::head_v2() {
  const std::string_view head(kept_);
  const uint8_t version = at(head, 12) >> 4, command = at(head, 12) & 0x0f;
  if (version != 2) return fail("the PROXY header has a version other than 2");
  if (command > 1) return fail("the PROXY header has a command other than LOCAL and PROXY");
  length_ = number_at(head, 14);
  if (length_ > kMostBytes) return fail("the PROXY header has more than 4096 bytes");
  discards_ = command == 0;
  if (!discards_) {
    switch (at(head, 13)) {
      case 0x00: break;  // UNSPEC: the proxy does not know the client
      case 0x11: addresses_ = 12; break;
      case 0x21: addresses_ = 36; break;
      case 0x31: addresses_ = 216; break;
      default: return fail("the PROXY header is for something else than a TCP or Unix stream");
    }
    if (length_ < addresses_) return fail("the PROXY header is shorter than its addresses");
  }
  if (length_ == 0) state_ = State::done;
}

void ProxyHeader::address_v2() {
  const std::string_view all = std::string_view(kept_).substr(kHead);
  if (addresses_ == 216) return;  // paths of Unix sockets name no client
  const size_t size = addresses_ == 12 ? 4 : 16;
  const auto address = IpAddress::from_bytes(all.substr(0, size));
  client_ = address->as_peer(static_cast<uint16_t>(number_at(all, 2 * size)));
}

// Only their lengths are looked at: they have to fill the rest exactly.
void ProxyHeader::tlv(char byte) {
  if (tlv_left_ > 0) {
    if (--tlv_left_ == 0) tlv_at_ = 0;
    return;
  }
  ++tlv_at_;
  if (tlv_at_ == 2) tlv_high_ = static_cast<uint8_t>(byte);
  if (tlv_at_ < kTlvHead) return;
  tlv_left_ = static_cast<size_t>(tlv_high_) << 8 | static_cast<uint8_t>(byte);
  if (tlv_left_ > length_ - (taken_ - kHead)) return fail("a TLV of the PROXY header is longer than it");
  if (tlv_left_ == 0) tlv_at_ = 0;
}

}  // namespace lineward::net
