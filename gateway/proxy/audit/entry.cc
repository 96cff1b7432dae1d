#include "proxy/audit/entry.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <ctime>

#include "foundation/log/sanitize.h"

namespace lineward::audit {
namespace {

constexpr std::string_view kCutMark = "...";

template <class Number>
void put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number take(std::string_view& packed) {
  Number number;
  std::memcpy(&number, packed.data(), sizeof number);
  packed.remove_prefix(sizeof number);
  return number;
}

std::string_view take_text(std::string_view& packed, size_t size) {
  const std::string_view text = packed.substr(0, size);
  packed.remove_prefix(size);
  return text;
}

// The length to which the text is truncated within `most`.
size_t fitting(std::string_view text, size_t most) {
  if (text.size() <= most) return text.size();
  size_t end = most > kCutMark.size() ? most - kCutMark.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return end;
}

void spell_time(std::string& out, int64_t time_ms) {
  const std::time_t seconds = time_ms / 1000;
  thread_local std::time_t made_for = -1;
  thread_local char date[32] = "";
  if (seconds != made_for) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    made_for = seconds;
  }
  fmt::format_to(std::back_inserter(out), "{}.{:03}Z", date, time_ms % 1000);
}

void spell_text(std::string& out, std::string_view text) {
  // Most texts are plain words.
  if (is_plain_word(text)) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += logged(text, true, Letters::ascii);
  }
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::call: return "call";
    case Kind::refusal: return "refusal";
    case Kind::action: return "action";
    case Kind::reload: return "reload";
    case Kind::open: return "open";
    case Kind::close: return "close";
    case Kind::checkpoint: return "checkpoint";
    case Kind::gap: return "gap";
    case Kind::torn: return "torn";
    case Kind::count_: break;
  }
  return "";
}

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string spelled_time(int64_t time_ms) {
  std::string out;
  spell_time(out, time_ms);
  return out;
}

bool closes_log(const Record& record) {
  return record.type == name(Kind::close) && record.why == kStop;
}

std::string cut(std::string_view text, size_t most) {
  std::string out(text.substr(0, fitting(text, most)));
  if (out.size() < text.size()) out += kCutMark;
  return out;
}

void pack(std::string& out, Kind kind, int64_t time_ms, Fields fields) {
  put(out, static_cast<uint8_t>(kind));
  put(out, time_ms);
  const size_t count_at = out.size();
  uint8_t count = 0;
  put(out, count);
  for (const log::Field& field : fields) {
    if (!field.number && field.text.empty()) continue;
    ++count;
    put(out, static_cast<uint8_t>(field.key.size()));
    out += field.key;
    put(out, static_cast<uint8_t>(field.number));
    if (field.number) {
      put(out, field.value);
      continue;
    }
    const size_t size = fitting(field.text, field.key == "arguments" ? kMaxArguments : kMaxText);
    const std::string_view mark = size < field.text.size() ? kCutMark : std::string_view();
    put(out, static_cast<uint32_t>(size + mark.size()));
    out += field.text.substr(0, size);
    out += mark;
  }
  out[count_at] = static_cast<char>(count);
}

Spelled spell_next(std::string_view& packed) {
  Spelled out;
  out.kind = static_cast<Kind>(take<uint8_t>(packed));
  out.body = "\"time\":\"";
  spell_time(out.body, take<int64_t>(packed));
  out.body += fmt::format("\",\"type\":\"{}\"", name(out.kind));
  for (uint8_t left = take<uint8_t>(packed); left > 0; --left) {
    out.body += ",\"";
    out.body += take_text(packed, take<uint8_t>(packed));
    out.body += "\":";
    if (take<uint8_t>(packed) != 0) {
      out.body += fmt::format_int(take<int64_t>(packed)).str();
    } else {
      const auto size = take<uint32_t>(packed);
      spell_text(out.body, take_text(packed, size));
    }
  }
  return out;
}

Spelled spell(Kind kind, int64_t time_ms, Fields fields) {
  std::string packed;
  pack(packed, kind, time_ms, fields);
  std::string_view view = packed;
  return spell_next(view);
}

}  // namespace lineward::audit
