// A record on its way to the file: packed where it is made, on the path of every call, and spelled as JSON by
// the thread that writes. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "audit/audit.h"
#include "audit/chain.h"

namespace lineward::audit {

using Fields = std::span<const log::Field>;

// Of one text; the arguments of a call have a limit of their own.
inline constexpr size_t kMaxText = 1024;
inline constexpr size_t kMaxArguments = 64 * 1024;

// Appends one entry. `time_ms`: of its event, since the epoch. Texts beyond their limit are cut.
void pack(std::string& out, Kind kind, int64_t time_ms, Fields fields);

struct Spelled {
  Kind kind = Kind::call;
  std::string body;  // "time":"…","type":"…" and the fields, without braces
};
// Takes the first entry off `packed`, which pack() made.
Spelled spell_next(std::string_view& packed);
Spelled spell(Kind kind, int64_t time_ms, Fields fields);
// "2026-11-20T12:03:07.412Z"
std::string spelled_time(int64_t time_ms);

// Why a log is closed. A file alone is closed for other reasons: it is full, or was moved away, and the next
// one goes on with the chain.
inline constexpr std::string_view kStop = "stop";
bool closes_log(const Record& record);

// At most so many bytes, and not through the middle of a character; "..." where it was cut.
std::string cut(std::string_view text, size_t most);
int64_t now_ms();

}  // namespace lineward::audit
