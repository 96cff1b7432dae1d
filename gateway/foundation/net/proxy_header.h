// The header of the PROXY protocol, by which a proxy tells the client's address before the first byte of a
// connection: version 1 (text) and version 2 (binary).
//
// Takes bytes as they arrive, and keeps at most 232 of them. Bytes behind the header belong to the
// connection. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::net {

class ProxyHeader {
 public:
  // Bytes behind the first 16 of version 2. Addresses take 216 at most; the rest are TLVs.
  static constexpr size_t kMostBytes = 4096;

  enum class State : uint8_t { more, done, failed };
  // Returns how many of the bytes belong to the header; all of them until it is done. Once it has failed, no
  // bytes are taken.
  size_t feed(std::string_view bytes);
  State state() const { return state_; }
  // When done: the client as a peer ("192.0.2.7:4711"). Empty: the proxy speaks for itself (LOCAL), or does
  // not know the client (UNKNOWN, a Unix socket).
  const std::string& client() const { return client_; }
  // When failed: a part of a sentence, without bytes of the peer.
  std::string_view fault() const { return fault_; }
  // Bytes of it have arrived.
  bool begun() const { return taken_ > 0; }

 private:
  void take(char byte);
  void take_v1(char byte);
  void take_v2(char byte);
  void head_v2();
  void address_v2();
  void tlv(char byte);
  void fail(std::string_view why) {
    state_ = State::failed;
    client_.clear();
    fault_ = why;
  }

  State state_ = State::more;
  size_t taken_ = 0;
  std::string kept_;       // version 1: the line; version 2: the head, then the addresses
  size_t length_ = 0;      // version 2: of all behind the head
  size_t addresses_ = 0;   // version 2: bytes of addresses
  bool discards_ = false;  // version 2: LOCAL, all behind the head has no meaning
  size_t tlv_at_ = 0;      // bytes of a TLV's own head that have arrived
  uint8_t tlv_high_ = 0;   // the first byte of its length
  size_t tlv_left_ = 0;    // bytes of its value that are still to come
  std::string client_;
  std::string_view fault_;
};

}  // namespace lineward::net
