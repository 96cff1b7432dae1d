// Both HTTP/2 fuzz targets take their choices, bytes, frames and fields from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::fuzz {

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t byte() { return bytes_.empty() ? 0 : static_cast<uint8_t>(take(1)[0]); }
  std::string_view take(size_t most) {
    const std::string_view part = bytes_.substr(0, most);
    bytes_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view bytes_;
};

inline std::string frame(uint8_t type, uint8_t flags, uint32_t id, const std::string& payload) {
  std::string out;
  for (const size_t byte : {payload.size() >> 16, payload.size() >> 8, payload.size(), size_t{type},
                            size_t{flags}, size_t{id >> 24}, size_t{id >> 16}, size_t{id >> 8}, size_t{id}})
    out += static_cast<char>(byte);
  return out + payload;
}

// A field that is not compressed (RFC 7541, 6.2.3). Names of 126 bytes and values of 126 bytes at most.
inline void field(std::string& out, std::string_view name, std::string_view value) {
  out += '\x10';
  out += static_cast<char>(name.size() & 0x7e);
  out += name.substr(0, name.size() & 0x7e);
  out += static_cast<char>(value.size() % 127);
  out += value.substr(0, value.size() % 127);
}

}  // namespace lineward::fuzz
