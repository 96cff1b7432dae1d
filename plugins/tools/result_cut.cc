#include "plugins/tools/result_cut.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"
#include "foundation/json/json_splice.h"

namespace lineward::plugins {
namespace {

// The longest note, as JSON text.
constexpr uint64_t kNote = 120;

json::Span place_of(std::string_view whole, std::string_view part) {
  const auto begin = static_cast<uint32_t>(part.data() - whole.data());
  return {begin, begin + static_cast<uint32_t>(part.size())};
}

struct Item {
  std::string_view raw;
  std::string_view text;  // of a text item, between its quotes
  bool is_text = false;
};

// Visits each item of the array; false if it is none.
template <class F>
bool for_each_item(std::string_view array, F&& visit) {
  json::Cursor cursor(array, json::kWrappedDepth);
  if (!cursor.at_array() || !cursor.enter_array()) return false;
  json::Span item;
  while (cursor.next_element()) {
    if (!cursor.skip(item)) return false;
    visit(item.in(array));
  }
  return cursor.done();
}

std::vector<Item> read_items(std::string_view content) {
  std::vector<Item> items;
  for_each_item(content, [&](std::string_view raw) {
    Item item{raw, {}, false};
    bool of_text = false;
    json::for_each_member(raw, [&](const std::string& key, std::string_view value) {
      if (key == "type") of_text = value == "\"text\"";
      if (key == "text" && value.size() >= 2 && value.front() == '"')
        item.text = value.substr(1, value.size() - 2);
    });
    item.is_text = of_text && item.text.data() != nullptr;
    items.push_back(item);
  });
  return items;
}

// The size of one character of a JSON string, there and in UTF-8.
struct Unit {
  size_t raw = 1;
  size_t decoded = 1;
};
Unit unit_at(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == '\\') {
    if (text[at + 1] != 'u') return {2, 1};
    const std::string_view digits = text.substr(at + 2, 4);
    const bool high =
        (digits[0] == 'd' || digits[0] == 'D') &&
        (digits[1] == '8' || digits[1] == '9' || (digits[1] | 0x20) == 'a' || (digits[1] | 0x20) == 'b');
    if (high && text.substr(at + 6, 2) == "\\u") return {12, 4};
    if (digits.substr(0, 2) != "00") return {6, 3};
    return {6, digits[2] < '8' ? size_t{1} : size_t{2}};
  }
  const size_t size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  return {size, size};
}

// As much of the text as fits, between two characters.
struct TextCut {
  size_t at = 0;         // bytes of the JSON text that stay
  uint64_t missing = 0;  // bytes of the text in UTF-8
  uint64_t all = 0;      // the same of the whole
};
TextCut cut_text(std::string_view text, uint64_t most) {
  TextCut cut;
  bool whole = true;
  for (size_t at = 0; at < text.size();) {
    const Unit unit = unit_at(text, at);
    at += unit.raw;
    cut.all += unit.decoded;
    whole = whole && at <= most;
    if (whole) {
      cut.at = at;
    } else {
      cut.missing += unit.decoded;
    }
  }
  return cut;
}

std::string note_of(const TextCut& cut) {
  return fmt::format("[{} of {} bytes of this text are left out by a limit of the gateway]", cut.missing,
                     cut.all);
}

}  // namespace

ResultSize size_of_result(std::string_view result, bool items) {
  ResultSize size{result.size(), 0};
  if (!items) return size;
  if (const auto content = json::member(result, "content"))
    for_each_item(*content, [&](std::string_view) { ++size.items; });
  return size;
}

std::optional<std::string> cut_result(std::string_view result, const ResultBounds& bounds) {
  const auto content = json::member(result, "content");
  if (!content || content->empty() || content->front() != '[') return std::nullopt;
  std::vector<Item> items = read_items(*content);
  uint64_t size = result.size();
  json::Splice splice(result);

  // Items at the end are left out, and one text says so.
  if (bounds.items > 0 && items.size() > bounds.items) {
    const size_t stay = static_cast<size_t>(bounds.items) - 1;
    const uint32_t begin = place_of(result, items[stay].raw).begin,
                   end = place_of(result, items.back().raw).end;
    std::string note =
        fmt::format(R"({{"type":"text","text":"[{} of {} items are left out by a limit of the gateway]"}})",
                    items.size() - stay, items.size());
    size = size - (end - begin) + note.size();
    splice.replace({begin, end}, std::move(note));
    items.resize(stay);
  }

  // Texts are cut from the last one on, until the rest fits.
  for (size_t i = items.size(); i-- > 0 && bounds.bytes > 0 && size > bounds.bytes;) {
    const Item& item = items[i];
    if (!item.is_text || item.text.size() <= kNote) continue;
    const uint64_t excess = size - bounds.bytes + kNote;
    const uint64_t most = item.text.size() > excess ? item.text.size() - excess : 0;
    const TextCut cut = cut_text(item.text, most);
    std::string note = (cut.at > 0 ? "\\n" : "") + note_of(cut);
    const json::Span text = place_of(result, item.text);
    size = size - (item.text.size() - cut.at) + note.size();
    splice.replace({text.begin + static_cast<uint32_t>(cut.at), text.end}, std::move(note));
  }
  if (bounds.bytes > 0 && size > bounds.bytes) return std::nullopt;
  return splice.apply();
}

std::string error_result(std::string_view why, bool modern) {
  return fmt::format(R"({{{}"content":[{{"type":"text","text":{}}}],"isError":true}})",
                     modern ? R"("resultType":"complete",)" : "", json::quote(why));
}

}  // namespace lineward::plugins
