// Opaque tokens that a client returns to one of many servers: cursors, task ids and requestState, each with
// the name of its server (behaviour.md 7). They are neither secret nor proof: each server checks its own
// tokens. They outlive a restart. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lineward::aggregate {

// The position in one server's list.
struct CursorPart {
  std::string server;
  std::string raw;     // the server's own cursor, as JSON text
  uint32_t pages = 0;  // pages read so far
  bool operator==(const CursorPart&) const = default;
};
// The single cursor of a merged list: text that needs no escapes. It is valid for that method only.
std::string seal_cursor(std::string_view method, const std::vector<CursorPart>& parts);
// Empty when it was not made here, or was modified.
std::optional<std::vector<CursorPart>> open_cursor(std::string_view method, std::string_view text);

// `raw`: a JSON string; its bytes stay unchanged. Task ids: "fs:7f3a".
std::string seal_task(std::string_view server, std::string_view raw);
std::string seal_state(std::string_view server, std::string_view raw);
struct Opened {
  std::string server;
  std::string raw;  // the server's own value, a JSON string
};
std::optional<Opened> open_task(std::string_view raw);
std::optional<Opened> open_state(std::string_view raw);

}  // namespace lineward::aggregate
