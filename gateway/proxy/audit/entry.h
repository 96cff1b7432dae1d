// A record on its way to the file: packed on the path of every call, converted to JSON by the writer thread.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/audit/audit.h"
#include "proxy/audit/hash_chain.h"

namespace lineward::audit {

using Fields = std::span<const log::Field>;

// Limit of a text; a call's arguments have their own limit.
inline constexpr size_t kMaxText = 1024;
inline constexpr size_t kMaxArguments = 64 * 1024;

// Appends one entry. `time_ms`: time of the event, since the epoch. Longer texts are truncated.
void pack(std::string& out, Kind kind, int64_t time_ms, Fields fields);

struct Spelled {
  Kind kind = Kind::call;
  std::string body;  // "time":"…","type":"…" and the fields, without braces
};
// Removes the first entry from `packed`, made by pack().
Spelled spell_next(std::string_view& packed);
Spelled spell(Kind kind, int64_t time_ms, Fields fields);
// "2026-11-20T12:03:07.412Z"
std::string spelled_time(int64_t time_ms);

// The reason for closing a whole log. Other reasons close a file only: it is full or was moved away, and the
// next one continues the chain.
inline constexpr std::string_view kStop = "stop";
bool closes_log(const Record& record);

// At most `most` bytes, never cut within a character; "..." marks a cut.
std::string cut(std::string_view text, size_t most);
int64_t now_ms();

}  // namespace lineward::audit
