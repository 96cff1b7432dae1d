// What a client carries back to one of many servers: cursors, task ids and requestState, each with the name
// of the server it came from (behaviour.md 7). They are no secrets and no proof: what a server gives out it
// checks itself. They outlive a restart. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lineward::aggregate {

// Where one server's list goes on.
struct CursorPart {
  std::string server;
  std::string raw;     // the server's own cursor, as JSON text
  uint32_t pages = 0;  // of it so far
  bool operator==(const CursorPart&) const = default;
};
// The one cursor of a merged list: text that needs no escapes. It is good for that method alone.
std::string seal_cursor(std::string_view method, const std::vector<CursorPart>& parts);
// Nothing when it was not made here, or changed on its way.
std::optional<std::vector<CursorPart>> open_cursor(std::string_view method, std::string_view text);

// `raw` is a JSON string as it came; its bytes stay. Task ids: "fs:7f3a".
std::string seal_task(std::string_view server, std::string_view raw);
std::string seal_state(std::string_view server, std::string_view raw);
struct Opened {
  std::string server;
  std::string raw;  // the server's own, a JSON string
};
std::optional<Opened> open_task(std::string_view raw);
std::optional<Opened> open_state(std::string_view raw);

}  // namespace lineward::aggregate
