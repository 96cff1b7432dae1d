// Any bytes as an event stream. Three readers must agree: the parser fed whole, the parser fed in pieces, and
// a naive reading of the rules. Then bytes as one event: what the writer makes of a text comes back. The
// first byte chooses limits, the second where the cuts fall.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/json/json_splice.h"
#include "protocol/http/sse_parser.h"
#include "protocol/http/writer.h"

using lineward::http::SseEvent;
using lineward::http::SseLimits;
using lineward::http::SseParser;

namespace {

struct Event {
  std::string data, type, id;
  int64_t retry = -1;
  bool operator==(const Event&) const = default;
};

struct Seen {
  std::vector<Event> events;
  std::string fault, last_id;
  int64_t retry = -1;
  bool operator==(const Seen&) const = default;
};

Seen parse(std::string_view bytes, const SseLimits& limits, unsigned cut, bool whole) {
  SseParser parser(limits);
  Seen seen;
  while (!bytes.empty()) {
    size_t take = whole ? bytes.size() : std::min<size_t>(1 + cut % 13, bytes.size());
    cut = cut * 31 + static_cast<unsigned char>(bytes.front());
    parser.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    SseParser::Next next;
    while ((next = parser.next()) == SseParser::Next::event) {
      SseEvent event = parser.take_event();
      LW_CHECK(event.data.size() <= limits.event_bytes && event.id.size() <= limits.line_bytes);
      seen.events.push_back({event.data, event.event, event.id, event.retry ? event.retry->count() : -1});
    }
    if (next == SseParser::Next::failed) seen.fault = parser.fault();
    LW_CHECK((next == SseParser::Next::failed) == !seen.fault.empty());
  }
  seen.last_id = parser.last_event_id();
  if (parser.retry()) seen.retry = parser.retry()->count();
  return seen;
}

// The rules one after the other, without limits and without thrift.
Seen naive(std::string text) {
  if (text.rfind("\xEF\xBB\xBF", 0) == 0) text.erase(0, 3);
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' && text[i] != '\n') {
      lines.back() += text[i];
      continue;
    }
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    lines.emplace_back();
  }
  lines.pop_back();  // not ended
  Seen seen;
  std::string data, type, id;
  int64_t told = -1;
  for (const std::string& line : lines) {
    if (line.empty()) {
      seen.last_id = id;  // one counts when its event has ended
      if (!data.empty()) {
        data.pop_back();
        seen.events.push_back({data, type.empty() ? "message" : type, seen.last_id, told});
        told = -1;
      }
      data.clear();
      type.clear();
      continue;
    }
    if (line[0] == ':') continue;
    size_t colon = line.find(':');
    std::string name = line.substr(0, colon), value;
    if (colon != std::string::npos)
      value = line.substr(line.compare(colon + 1, 1, " ") == 0 ? colon + 2 : colon + 1);
    if (name == "data") data += value + "\n";
    if (name == "event") type = value;
    const bool kept = value.size() <= SseParser::kMaxEventId && value.find('\0') == std::string::npos;
    if (name == "id" && kept) id = value;
    if (name == "retry" && !value.empty() && value.find_first_not_of("0123456789") == std::string::npos) {
      value.erase(0, std::min(value.find_first_not_of('0'), value.size() - 1));
      told = seen.retry = value.size() > 8 ? 86400000 : std::min<int64_t>(std::stoll(value), 86400000);
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  SseLimits limits;
  if (data[0] & 1) limits.line_bytes = data[0] >> 3;
  if (data[0] & 2) limits.event_bytes = data[0] >> 3;
  const unsigned cut = data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  const Seen whole = parse(bytes, limits, cut, true);
  LW_CHECK(whole == parse(bytes, limits, cut, false));
  if (whole.fault.empty()) {
    LW_CHECK(whole == naive(std::string(bytes)));
  } else {
    LW_CHECK((data[0] & 3) != 0);
  }

  // Raw NULs are in no JSON text; the writer does not let them pass.
  std::string text(bytes);
  std::replace(text.begin(), text.end(), '\0', ' ');
  const lineward::http::EventPieces event = lineward::http::sse_event(text, "7-1", 0);
  const Seen written = parse(event.before + event.data + std::string(event.after), {}, cut, false);
  lineward::json::flatten_lines(text);
  LW_CHECK(written.fault.empty() && written.last_id == "7-1" && written.events.size() == 1);
  LW_CHECK(written.events[0].data == text && written.events[0].type == "message");
  return 0;
}
