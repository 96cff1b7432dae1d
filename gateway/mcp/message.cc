#include "mcp/message.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lineward::mcp {
namespace {

// The objects whose keys are looked at. All others are validated and passed over.
enum class Level : uint8_t { top, params, params_meta, result, result_meta, error, error_data, none };

struct Row {
  Level where;
  std::string_view key;
  Field field;
};

constexpr Field kVersion = Field::count_;  // "jsonrpc": checked here, of no use to others

constexpr Row kRows[] = {
    {Level::top, "jsonrpc", kVersion},
    {Level::top, "id", Field::id},
    {Level::top, "method", Field::method},
    {Level::top, "params", Field::params},
    {Level::top, "result", Field::result},
    {Level::top, "error", Field::error},
    {Level::params, "_meta", Field::params_meta},
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
    {Level::result, "_meta", Field::result_meta},
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
    {Level::result_meta, "io.modelcontextprotocol/subscriptionId", Field::result_subscription_id},
    {Level::result_meta, "io.modelcontextprotocol/serverInfo", Field::result_meta_server_info},
    {Level::error, "code", Field::error_code},
    {Level::error, "message", Field::error_message},
    {Level::error, "data", Field::error_data},
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

// Most keys of a message are told apart by their length alone: for each level and length the first row, from
// 1, and for each row the next of its length.
constexpr size_t kLongestKey = 48;
struct RowsBySize {
  std::array<std::array<uint8_t, kLongestKey>, static_cast<size_t>(Level::none)> first{};
  std::array<uint8_t, std::size(kRows)> next{};
};
constexpr RowsBySize rows_by_size() {
  RowsBySize rows;
  for (size_t i = std::size(kRows); i-- > 0;) {
    uint8_t& first = rows.first[static_cast<size_t>(kRows[i].where)][kRows[i].key.size()];
    rows.next[i] = first;
    first = static_cast<uint8_t>(i + 1);
  }
  return rows;
}
constexpr RowsBySize kBySize = rows_by_size();

// Both are that long; most have a few bytes.
bool same_bytes(const char* a, const char* b, size_t size) {
  const auto eight = [](const char* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  if (size < 8) {
    while (size > 0 && a[size - 1] == b[size - 1])
      --size;
    return size == 0;
  }
  size_t at = 0;
  while (at + 8 < size && eight(a + at) == eight(b + at))
    at += 8;
  return at + 8 >= size && eight(a + size - 8) == eight(b + size - 8);
}

const Row* find_row(Level level, std::string_view key) {
  if (key.size() >= kLongestKey) return nullptr;
  for (size_t i = kBySize.first[static_cast<size_t>(level)][key.size()]; i != 0; i = kBySize.next[i - 1]) {
    const std::string_view known = kRows[i - 1].key;
    // Long keys begin alike: their last byte tells more than their first ones.
    if (known.back() == key.back() && same_bytes(known.data(), key.data(), key.size())) return &kRows[i - 1];
  }
  return nullptr;
}

// The level that the object in this field opens.
constexpr Level level_inside(Field field) {
  switch (field) {
    case Field::params: return Level::params;
    case Field::params_meta: return Level::params_meta;
    case Field::result: return Level::result;
    case Field::result_meta: return Level::result_meta;
    case Field::error: return Level::error;
    case Field::error_data: return Level::error_data;
    default: return Level::none;
  }
}

std::string_view between_quotes(std::string_view raw) {
  return raw.substr(1, raw.size() - 2);
}

// Of a valid JSON number: how many bytes its integer takes, or 0 when it is no integer (1.5, 1e3).
size_t integer_size(std::string_view raw) {
  const size_t size = raw.find_first_not_of("-0123456789");
  if (size == std::string_view::npos) return raw.size();
  if (raw[size] != '.' || raw.find_first_not_of('0', size + 1) != std::string_view::npos) return 0;
  return size;
}

bool is_legal_id(std::string_view raw) {
  if (raw.empty()) return false;
  if (raw.front() == '"') return true;
  const bool number = raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9');
  return number && integer_size(raw) != 0;
}

std::string describe(const json::Cursor& cursor, std::string_view bytes, int max_depth) {
  const std::string place = " at byte " + std::to_string(cursor.offset());
  switch (cursor.fault()) {
    case json::Fault::depth:
      return "nested deeper than the limit of " + std::to_string(std::min(max_depth, json::kDepthCeiling)) +
             " levels" + place;
    case json::Fault::utf8: return "not JSON: invalid UTF-8" + place;
    case json::Fault::trailing: return "not JSON: something follows the message" + place;
    default: break;
  }
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") return "not JSON: byte order mark" + place;
  if (cursor.offset() >= bytes.size()) return "not JSON: the text ends too early" + place;
  return "not JSON: syntax error" + place;
}

}  // namespace

// One pass over the bytes; what is wrong with the shape is judged when all of it is known to be JSON.
struct MessageParser {
  static constexpr size_t kUsualFields = 12;

  Message& message;
  json::Cursor cursor;
  json::Span version;
  std::string duplicate;  // the first key that stands twice
  bool id_twice = false;

  MessageParser(Message& into, std::string bytes, int max_depth)
      : message(into), cursor((into.bytes_ = std::move(bytes)), max_depth) {
    into.places_.reserve(kUsualFields);
  }

  // Walks the object at the cursor. Goes no deeper than the levels do.
  bool walk(Level level) {
    if (!cursor.enter_object()) return false;
    using Member = json::Cursor::Member;
    json::Span key, value;
    bool escaped = false;
    for (Member next; (next = cursor.next_member(key, escaped, value)) != Member::none;) {
      const std::string_view raw = key.in(message.bytes_);
      const Row* row = escaped ? find_row(level, json::unescape(raw)) : find_row(level, raw);
      const bool is_version = row != nullptr && row->field == kVersion;
      const bool twice =
          row != nullptr && (is_version ? static_cast<bool>(version) : message.has(row->field));
      if (next == Member::object) {
        const Level inside = row == nullptr || twice ? Level::none : level_inside(row->field);
        value.begin = cursor.offset();
        if (!(inside != Level::none ? walk(inside) : cursor.skip(value))) return false;
        value.end = cursor.offset();
      }
      if (row == nullptr) continue;
      if (twice) {
        if (duplicate.empty()) duplicate = row->key;
        id_twice = id_twice || row->field == Field::id;
        continue;
      }
      if (is_version) {
        version = value;
      } else {
        message.set(row->field, key, value);
      }
    }
    return cursor.done();
  }

  // What breaks the JSON-RPC shape, or empty. Sets the kind and the method.
  std::string judge() {
    if (!duplicate.empty()) return "the key \"" + duplicate + "\" stands twice in one object";
    const std::string_view said = version.in(message.bytes_);
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
    if (method && !message.is_string(Field::method)) return "\"method\" must be a string";
    if (message.has(Field::params) && !message.is_object(Field::params))
      return "\"params\" must be an object";
    if (error && !message.is_object(Field::error)) return "\"error\" must be an object";
    if (method) message.method_ = message.text(Field::method);
    return {};
  }
};

Result<Message, MessageFault> Message::parse(std::string bytes, int max_depth) {
  using Kind = MessageFault::Kind;
  Result<Message, MessageFault> out = Message();
  const auto refuse = [&out](Kind kind, std::string text, std::string raw_id = {}) {
    std::string refused = std::move(out->bytes_);
    out =
        Unexpected<MessageFault>{MessageFault{kind, std::move(text), std::move(raw_id), std::move(refused)}};
  };

  MessageParser parser(*out, std::move(bytes), max_depth);
  const bool object = parser.cursor.at_object();
  const bool array = parser.cursor.at_array();
  json::Span whole;
  const bool valid = (object ? parser.walk(Level::top) : parser.cursor.skip(whole)) && parser.cursor.finish();
  if (!valid) {
    refuse(Kind::not_json, describe(parser.cursor, out->bytes_, max_depth));
  } else if (array) {
    refuse(Kind::batch, "batches are not supported");
  } else if (!object) {
    refuse(Kind::invalid_request, "a message must be an object");
  } else if (std::string wrong = parser.judge(); !wrong.empty()) {
    const std::string_view id = parser.id_twice ? std::string_view() : out->raw(Field::id);
    refuse(Kind::invalid_request, std::move(wrong), is_legal_id(id) ? std::string(id) : std::string());
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
