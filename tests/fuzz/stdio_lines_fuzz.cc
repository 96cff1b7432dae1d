// The output of a stdio server: any bytes cut anywhere give the same lines, each of them a message or not.
// Ids recovered from a line that is no message stand in it. The first byte chooses the limit, the second
// where the cuts fall.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/json/line_splitter.h"
#include "protocol/mcp/message.h"
#include "protocol/mcp/rewrite.h"

using namespace lineward;
using lineward::LineSplitter;

namespace {

struct Lines {
  std::vector<std::string> lines;
  bool too_long = false;
  std::string partial;
  bool operator==(const Lines&) const = default;
};

Lines split(std::string_view bytes, size_t limit, unsigned cut, bool whole) {
  LineSplitter splitter(limit);
  Lines out;
  while (!bytes.empty() && !out.too_long) {
    size_t take = whole ? bytes.size() : std::min<size_t>(1 + cut % 13, bytes.size());
    cut = cut * 31 + static_cast<unsigned char>(bytes.front());
    out.too_long =
        !splitter.feed(bytes.substr(0, take), [&](std::string line) { out.lines.push_back(line); });
    bytes.remove_prefix(take);
  }
  LW_CHECK(!out.too_long || !splitter.has_partial());
  out.partial = splitter.take_partial();
  LW_CHECK(!splitter.has_partial() && out.partial.size() <= limit);
  return out;
}

Lines naive(std::string_view bytes, size_t limit) {
  Lines out;
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    std::string line(bytes.substr(0, end));
    if (line.size() > limit) {
      out.too_long = true;
      return out;
    }
    if (end == std::string_view::npos) {
      out.partial = line;
      return out;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    out.lines.push_back(line);
    bytes.remove_prefix(end + 1);
  }
  return out;
}

void read_line(const std::string& line) {
  LW_CHECK(line.find('\n') == std::string::npos);
  const mcp::RecoveredIds found = mcp::recover_ids(line);
  size_t ids_at = 0;
  for (const std::string& raw_id : found.raw_ids) {
    LW_CHECK(json::validate(raw_id) == json::Fault::none);
    ids_at = line.find(raw_id, ids_at);
    LW_CHECK(ids_at != std::string::npos);
    ids_at += raw_id.size();
  }
  const std::vector<std::string> elements = mcp::batch_elements(line);
  for (const std::string& element : elements) {
    LW_CHECK(element.front() == '{' && json::validate(element) == json::Fault::none);
  }
  auto message = mcp::Message::parse(line);
  if (!message) {
    LW_CHECK(elements.empty() || message.error().kind == mcp::MessageFault::Kind::batch);
    return;
  }
  // RecoveredIds reads a whole message as the parser does.
  LW_CHECK(message->bytes() == line && found.looks_like_message && elements.empty());
  LW_CHECK(found.raw_ids.size() == (message->has(mcp::Field::id) ? 1 : 0));
  LW_CHECK(found.raw_ids.empty() || found.raw_ids[0] == message->raw(mcp::Field::id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t limit = data[0] & 1 ? data[0] >> 1 : 32u << 20;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Lines whole = split(bytes, limit, data[1], true);
  LW_CHECK(whole == split(bytes, limit, data[1], false));
  LW_CHECK(whole == naive(bytes, limit));
  for (const std::string& line : whole.lines)
    read_line(line);
  (void)mcp::recover_ids(whole.partial);
  return 0;
}
