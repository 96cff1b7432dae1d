#include "mcp/message.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "json/json_grammar.h"

namespace lineward::mcp {
namespace {

// The objects whose keys are looked at. All others are validated and passed over.
enum class Level : uint8_t { top, params, params_meta, result, result_meta, error, error_data, none };

struct Row {
  Level where;
  std::string_view key;
  Field field;
  Level inside = Level::none;  // the level that an object in this field opens
};

constexpr Field kVersion = Field::count_;  // "jsonrpc": of no use to others

constexpr Row kRows[] = {
    {Level::top, "jsonrpc", kVersion},
    {Level::top, "id", Field::id},
    {Level::top, "method", Field::method},
    {Level::top, "params", Field::params, Level::params},
    {Level::top, "result", Field::result, Level::result},
    {Level::top, "error", Field::error, Level::error},
    {Level::params, "_meta", Field::params_meta, Level::params_meta},
    {Level::params, "name", Field::params_name},
    {Level::params, "uri", Field::params_uri},
    {Level::params, "cursor", Field::params_cursor},
    {Level::params, "requestId", Field::params_request_id},
    {Level::params, "reason", Field::params_reason},
    {Level::params, "progressToken", Field::params_progress_token},
    {Level::params, "level", Field::params_level},
    {Level::params, "notifications", Field::params_notifications},
    {Level::params, "arguments", Field::params_arguments},
    {Level::params, "protocolVersion", Field::params_protocol_version},
    {Level::params, "capabilities", Field::params_capabilities},
    {Level::params, "clientInfo", Field::params_client_info},
    {Level::params, "requestState", Field::params_request_state},
    {Level::params, "inputResponses", Field::params_input_responses},
    {Level::params, "task", Field::params_task},
    {Level::params, "taskId", Field::params_task_id},
    {Level::params_meta, "progressToken", Field::meta_progress_token},
    {Level::params_meta, "io.modelcontextprotocol/protocolVersion", Field::meta_protocol_version},
    {Level::params_meta, "io.modelcontextprotocol/clientCapabilities", Field::meta_client_capabilities},
    {Level::params_meta, "io.modelcontextprotocol/clientInfo", Field::meta_client_info},
    {Level::params_meta, "io.modelcontextprotocol/logLevel", Field::meta_log_level},
    {Level::params_meta, "io.modelcontextprotocol/subscriptionId", Field::meta_subscription_id},
    {Level::params_meta, "io.lineward/timeoutMs", Field::meta_timeout_ms},
    {Level::params_meta, "traceparent", Field::meta_traceparent},
    {Level::result, "_meta", Field::result_meta, Level::result_meta},
    {Level::result, "resultType", Field::result_type},
    {Level::result, "isError", Field::result_is_error},
    {Level::result, "task", Field::result_task},
    {Level::result, "supportedVersions", Field::result_supported_versions},
    {Level::result, "protocolVersion", Field::result_protocol_version},
    {Level::result, "capabilities", Field::result_capabilities},
    {Level::result, "serverInfo", Field::result_server_info},
    {Level::result, "nextCursor", Field::result_next_cursor},
    {Level::result, "ttlMs", Field::result_ttl_ms},
    {Level::result, "cacheScope", Field::result_cache_scope},
    {Level::result, "content", Field::result_content},
    {Level::result, "structuredContent", Field::result_structured_content},
    {Level::result, "messages", Field::result_messages},
    {Level::result, "contents", Field::result_contents},
    {Level::result, "requestState", Field::result_request_state},
    {Level::result, "taskId", Field::result_task_id},
    {Level::result, "result", Field::result_result},
    {Level::result, "tools", Field::result_tools},
    {Level::result, "prompts", Field::result_prompts},
    {Level::result, "resources", Field::result_resources},
    {Level::result, "resourceTemplates", Field::result_resource_templates},
    {Level::result, "tasks", Field::result_tasks},
    {Level::result, "instructions", Field::result_instructions},
    {Level::result_meta, "io.modelcontextprotocol/subscriptionId", Field::result_subscription_id},
    {Level::result_meta, "io.modelcontextprotocol/serverInfo", Field::result_meta_server_info},
    {Level::error, "code", Field::error_code},
    {Level::error, "message", Field::error_message},
    {Level::error, "data", Field::error_data, Level::error_data},
    {Level::error_data, "supported", Field::error_data_supported},
};

constexpr bool every_field_has_one_row() {
  for (uint8_t f = 0; f <= static_cast<uint8_t>(Field::count_); ++f) {
    int rows = 0;
    for (const Row& row : kRows)
      rows += static_cast<uint8_t>(row.field) == f;
    if (rows != 1) return false;
  }
  return true;
}
static_assert(every_field_has_one_row());

// Length, first, middle and last byte tell the rows of a level apart: the one that a key may be, from 1,
// stands in its slot. Where a new row has no slot of its own, other factors will do.
constexpr size_t kSlots = 64;
constexpr size_t slot_of(std::string_view key) {
  const auto byte = [key](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(key[at])); };
  return (key.size() + byte(0) * 2 + byte(key.size() - 1) * 7 + byte(key.size() / 2) * 12) % kSlots;
}
using Slots = std::array<uint8_t, kSlots>;
constexpr auto all_slots() {
  std::array<Slots, static_cast<size_t>(Level::none)> all{};
  for (size_t i = 0; i < std::size(kRows); ++i)
    all[static_cast<size_t>(kRows[i].where)][slot_of(kRows[i].key)] = static_cast<uint8_t>(i + 1);
  return all;
}
constexpr auto kSlotsOf = all_slots();

constexpr bool every_row_has_its_slot() {
  size_t taken = 0;
  for (const Slots& slots : kSlotsOf) {
    for (const uint8_t row : slots)
      taken += row != 0;
  }
  return taken == std::size(kRows);
}
static_assert(every_row_has_its_slot());

template <class Word>
Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
template <class Word>
bool same_ends(const char* a, const char* b, size_t size) {
  const size_t last = size - sizeof(Word);
  return load<Word>(a) == load<Word>(b) && load<Word>(a + last) == load<Word>(b + last);
}

// Both are that long, at least 1.
LW_INLINE inline bool same_bytes(const char* a, const char* b, size_t size) {
  for (; size > 16; a += 8, b += 8, size -= 8) {
    if (load<uint64_t>(a) != load<uint64_t>(b)) return false;
  }
  if (size >= 8) return same_ends<uint64_t>(a, b, size);
  if (size >= 4) return same_ends<uint32_t>(a, b, size);
  return size == 1 ? *a == *b : same_ends<uint16_t>(a, b, size);
}

LW_INLINE inline const Row* find_row(const Slots& slots, std::string_view key) {
  if (key.empty()) return nullptr;
  const size_t row = slots[slot_of(key)];
  if (row == 0) return nullptr;
  const std::string_view known = kRows[row - 1].key;
  const bool same = known.size() == key.size() && same_bytes(known.data(), key.data(), key.size());
  return same ? &kRows[row - 1] : nullptr;
}
const Row* find_escaped_row(const Slots& slots, std::string_view key) {
  return find_row(slots, json::unescape(key));
}

std::string_view between_quotes(std::string_view raw) {
  return raw.substr(1, raw.size() - 2);
}

// Of a valid JSON number: how many bytes its integer takes, or 0 when it is no integer (1.5, 1e3).
size_t integer_size(std::string_view raw) {
  size_t size = 0;
  while (size < raw.size() && (raw[size] == '-' || (raw[size] >= '0' && raw[size] <= '9')))
    ++size;
  if (size == raw.size()) return size;
  if (raw[size] != '.' || raw.find_first_not_of('0', size + 1) != std::string_view::npos) return 0;
  return size;
}

bool is_legal_id(std::string_view raw) {
  if (raw.empty()) return false;
  if (raw.front() == '"') return true;
  const bool number = raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9');
  return number && integer_size(raw) != 0;
}

std::string describe(json::Fault fault, size_t offset, std::string_view bytes, int max_depth) {
  const std::string place = " at byte " + std::to_string(offset);
  switch (fault) {
    case json::Fault::depth:
      return "nested deeper than the limit of " + std::to_string(std::min(max_depth, json::kDepthCeiling)) +
             " levels" + place;
    case json::Fault::utf8: return "not JSON: invalid UTF-8" + place;
    case json::Fault::trailing: return "not JSON: something follows the message" + place;
    default: break;
  }
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") return "not JSON: byte order mark" + place;
  if (offset >= bytes.size()) return "not JSON: the text ends too early" + place;
  return "not JSON: syntax error" + place;
}

}  // namespace

// One pass over the bytes; what is wrong with the shape is judged when all of it is known to be JSON.
struct MessageParser {
  Message& message;
  const char* begin;
  const char* end;
  const json::Outline* outline;
  std::string duplicate;  // the first key that stands twice
  bool id_twice = false;
  bool crowded = false;

  explicit MessageParser(Message& into)
      : message(into),
        begin(into.bytes_.data()),
        end(begin + into.bytes_.size()),
        outline(into.outline_.get()) {}

  uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin); }

  bool passed_before(json::Scanner<true>& scan) const {
    const uint32_t behind = outline->end_of(offset(scan.at));
    if (behind == 0) return false;
    scan.at = begin + behind;
    LW_CHECK(scan.at <= end);
    return true;
  }

  // Walks the object at `at`, at most `room` levels. Goes no deeper than our levels do.
  json::Passed walk(Level level, const char* at, int room) {
    if (room <= 0) return {at, json::Fault::depth};
    json::Scanner<true> scan{at + 1, end};
    const Slots& slots = kSlotsOf[static_cast<size_t>(level)];
    const char* from;
    const char* to;
    bool escaped;
    size_t members = 0;
    for (bool first_key = true; scan.another('}', first_key); first_key = false) {
      if (++members > kMaxMembers) {
        crowded = true;
        scan.stop(json::Fault::syntax);
        break;
      }
      if (!scan.key(from, to, escaped)) break;
      const std::string_view key(from, static_cast<size_t>(to - from));
      const Row* row = escaped ? find_escaped_row(slots, key) : find_row(slots, key);
      const bool twice = row != nullptr && message.has(row->field);
      const char first = scan.token();
      const char* value = scan.at;
      const Level inside = row == nullptr || twice || first != '{' ? Level::none : row->inside;
      if (inside != Level::none) {
        if (!scan.take(walk(inside, value, room - 1))) break;
      } else if (outline != nullptr && passed_before(scan)) {
        // It was checked as it arrived.
      } else if (!scan.value(first, room - 1)) {
        break;
      }
      if (twice) {
        if (duplicate.empty()) duplicate = row->key;
        id_twice = id_twice || row->field == Field::id;
      } else if (row != nullptr) {
        message.set(row->field, {offset(from), offset(to), offset(value), offset(scan.at)});
      }
    }
    return {scan.at, scan.fault};
  }

  // The whole text; `first` is what it begins with. Bytes are a string's: behind them stands a zero.
  json::Passed read(char& first, int room) {
    // Offsets would wrap.
    if (message.bytes_.size() >= std::numeric_limits<uint32_t>::max()) return {begin, json::Fault::syntax};
    json::Scanner<true> scan{begin, end};
    first = scan.token();
    if (first == '{' ? scan.take(walk(Level::top, scan.at, room)) : scan.value(first, room)) {
      scan.space();
      if (scan.at != end) scan.stop(json::Fault::trailing);
    }
    return {scan.at, scan.fault};
  }

  // For what is JSON and an object.
  MessageFault::Meant meant() const {
    using Meant = MessageFault::Meant;
    if (!message.has(Field::method) || message.has(Field::result) || message.has(Field::error))
      return Meant::unknown;
    return message.has(Field::id) ? Meant::request : Meant::notification;
  }

  // What breaks the JSON-RPC shape, or empty. Sets the kind and the method.
  std::string judge() {
    if (!duplicate.empty()) return "the key \"" + duplicate + "\" stands twice in one object";
    const std::string_view said = message.raw(kVersion);
    const bool plain = said == "\"2.0\"";  // nearly always
    if (!plain && (said.empty() || said.front() != '"' || json::unescape(between_quotes(said)) != "2.0")) {
      return "\"jsonrpc\" must be \"2.0\"";
    }
    const bool method = message.has(Field::method);
    const bool result = message.has(Field::result);
    const bool error = message.has(Field::error);
    if (method + result + error != 1)
      return "exactly one of \"method\", \"result\" and \"error\" must be there";

    const bool id = message.has(Field::id);
    if (method) {
      message.kind_ = id ? MessageKind::request : MessageKind::notification;
    } else {
      message.kind_ = result ? MessageKind::result : MessageKind::error;
    }
    if (result && !id) return "a result needs an \"id\"";
    if (id && !is_legal_id(message.raw(Field::id)) && !(error && message.raw(Field::id) == "null")) {
      return "\"id\" must be a string or an integer";
    }
    if (id && method && message.raw(Field::id).size() > kMaxIdBytes)
      return "\"id\" must not have more than " + std::to_string(kMaxIdBytes) + " bytes";
    if (method && !message.is_string(Field::method)) return "\"method\" must be a string";
    if (message.has(Field::params) && !message.is_object(Field::params))
      return "\"params\" must be an object";
    if (error && !message.is_object(Field::error)) return "\"error\" must be an object";
    if (method) message.method_ = message.text(Field::method);
    return {};
  }
};

Result<Message, MessageFault> Message::parse(json::Text given, int max_depth) {
  using Kind = MessageFault::Kind;
  Result<Message, MessageFault> out = Message();
  const auto refuse = [&out](Kind kind, std::string text, std::string raw_id = {}) {
    std::string refused = std::move(out->bytes_);
    out =
        Unexpected<MessageFault>{MessageFault{kind, std::move(text), std::move(raw_id), std::move(refused)}};
  };

  out->bytes_ = std::move(given.bytes);
  out->outline_ = std::move(given.outline);
  // Whoever walks a long text goes around what is large in it, also where it did not arrive in pieces: on
  // several lines of an event, from a plugin.
  if (!out->outline_) {
    json::ArrivingOutline whole(max_depth);
    whole.more(out->bytes_);
    out->outline_ = whole.take();
  }
  MessageParser parser(*out);
  char first = 0;
  const json::Passed end = parser.read(first, std::min(max_depth, json::kDepthCeiling));
  if (parser.crowded) {
    refuse(Kind::invalid_request,
           "an object of the message has more than " + std::to_string(kMaxMembers) + " members");
  } else if (end.fault != json::Fault::none) {
    refuse(Kind::not_json, describe(end.fault, parser.offset(end.at), out->bytes_, max_depth));
  } else if (first == '[') {
    refuse(Kind::batch, "batches are not supported");
  } else if (first != '{') {
    refuse(Kind::invalid_request, "a message must be an object");
  } else if (std::string wrong = parser.judge(); !wrong.empty()) {
    const std::string_view id = parser.id_twice ? std::string_view() : out->raw(Field::id);
    const MessageFault::Meant meant = parser.meant();
    refuse(Kind::invalid_request, std::move(wrong),
           is_legal_id(id) && id.size() <= kMaxIdBytes ? std::string(id) : std::string());
    out.error().meant = meant;
  }
  return out;
}

bool Message::text_is(Field f, std::string_view text) const {
  if (!is_string(f)) return false;
  const std::string_view inner = between_quotes(raw(f));
  return inner.find('\\') == std::string_view::npos ? inner == text : json::unescape(inner) == text;
}

std::string Message::text(Field f) const {
  return is_string(f) ? json::unescape(between_quotes(raw(f))) : std::string();
}

std::string canonical_id(std::string_view raw) {
  if (raw.size() >= 2 && raw.front() == '"') return "s:" + json::unescape_exact(between_quotes(raw));
  const size_t size = integer_size(raw);
  std::string_view digits = size != 0 ? raw.substr(0, size) : raw;
  if (digits == "-0") digits = "0";
  return "n:" + std::string(digits);
}

}  // namespace lineward::mcp
