#include "protocol/mcp/message.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/json/json_grammar.h"
#include "protocol/mcp/message_keys.h"
#include "protocol/mcp/methods.h"

namespace lineward::mcp {
namespace {

thread_local constinit ExpectedKeys expected_keys;

constexpr size_t kRowOfId = 1;
static_assert(kRows[kRowOfId].field == Field::id);

std::string_view between_quotes(std::string_view raw) {
  return raw.substr(1, raw.size() - 2);
}

// The length of the integer in a valid JSON number, or 0 when it is not an integer (1.5, 1e3).
size_t integer_size(std::string_view raw) {
  size_t size = raw.substr(0, 1) == "-" ? 1 : 0;
  while (size < raw.size() && raw[size] >= '0' && raw[size] <= '9')
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
             " levels (listen.maxDepth)" + place;
    case json::Fault::utf8: return "not JSON: invalid UTF-8" + place;
    case json::Fault::trailing: return "not JSON: something follows the message" + place;
    default: break;
  }
  if (bytes.substr(0, 3) == "\xEF\xBB\xBF") return "not JSON: byte order mark" + place;
  if (offset >= bytes.size()) return "not JSON: the text ends too early" + place;
  return "not JSON: syntax error" + place;
}

}  // namespace

// Parses in one pass; the JSON-RPC shape is judged after all of it is known to be JSON.
struct MessageParser {
  Message& message;
  const char* begin;
  const char* end;
  const json::Outline* outline;
  ExpectedKeys& expected;
  std::string duplicate;  // the first duplicate key
  bool id_twice = false;
  bool crowded = false;
  // Rows that a case-insensitive decoder would match to an unknown key.
  std::bitset<std::size(kRows)> likened;

  explicit MessageParser(Message& into)
      : message(into),
        begin(into.bytes_.data()),
        end(begin + into.bytes_.size()),
        outline(into.outline_.get()),
        expected(expected_keys) {}

  uint32_t offset(const char* at) const { return static_cast<uint32_t>(at - begin); }

  bool passed_before(json::Scanner<true>& scan) const {
    const uint32_t behind = outline->end_of(offset(scan.at));
    if (behind == 0) return false;
    scan.at = begin + behind;
    LW_CHECK(scan.at <= end);
    return true;
  }

  // Walks the object at `at`, at most `room` levels deep. Recurses only into known levels.
  json::Passed walk(Level level, const char* at, int room) {
    if (room <= 0) return {at, json::Fault::depth};
    json::Scanner<true> scan{at + 1, end};
    const Slots& slots = kSlotsOf[static_cast<size_t>(level)];
    ExpectedKeys::Place place = ExpectedKeys::first_in(level);
    size_t members = 0;
    for (bool first_key = true; scan.another('}', first_key); first_key = false) {
      if (++members > kMaxMembers) {
        crowded = true;
        scan.stop(json::Fault::syntax);
        break;
      }
      const char* from = scan.at + 1;
      const char* to;
      const Row* row = expected.match(place, scan.at, end);
      if (row != nullptr) {
        to = scan.at - 2;
      } else {
        bool escaped;
        if (!scan.key(from, to, escaped)) break;
        const std::string_view key(from, static_cast<size_t>(to - from));
        row = escaped ? find_escaped_row(slots, key) : find_row(slots, key);
        if (row != nullptr) {
          expected.learn(place, row);
        } else if (const Row* like = find_likeness(level, key, escaped)) {
          likened.set(ExpectedKeys::behind(like));
        }
      }
      if (row != nullptr) place = ExpectedKeys::behind(row);
      const bool twice = row != nullptr && message.has(row->field);
      const char first = scan.token();
      const char* value = scan.at;
      const Level inside = row == nullptr || twice || first != '{' ? Level::none : row->inside;
      if (inside != Level::none) {
        if (!scan.take(walk(inside, value, room - 1))) break;
      } else if (outline != nullptr && passed_before(scan)) {
        // It was checked on arrival.
      } else if (!scan.value(first, room - 1)) {
        break;
      }
      if (twice) {
        if (duplicate.empty()) duplicate = row->key();
        id_twice = id_twice || row->field == Field::id;
      } else if (row != nullptr) {
        message.set(row->field, {offset(from), offset(to), offset(value), offset(scan.at)});
      }
    }
    return {scan.at, scan.fault};
  }

  // The whole text; `first` is its first token. The bytes are a string's, so a zero follows them.
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

  // For a JSON object.
  MessageFault::Meant meant() const {
    using Meant = MessageFault::Meant;
    const bool answers = message.has(Field::result) || message.has(Field::error);
    if (!message.has(Field::method)) return answers ? Meant::answer : Meant::unknown;
    if (answers) return Meant::unknown;
    return message.has(Field::id) ? Meant::request : Meant::notification;
  }

  // The first key that a server or client may match case-insensitively, though Lineward does not; empty:
  // none. Params of unknown methods are not checked, except `_meta`, nor are results and errors without a key
  // known to Lineward. The `_meta` of requests and notifications distinguishes one client's progress from
  // another's and describes the client: Lineward may add its keys there, so it is always checked.
  std::string likeness() const {
    if (likened.none()) return {};
    const bool known = method_of(message.text(Field::method)) != Method::other;
    const auto counts = [&](const Row& row) {
      switch (row.where) {
        case Level::top: return true;
        case Level::params: return known || row.field == Field::params_meta;
        case Level::params_meta: return row.field != Field::meta_traceparent || message.has(row.field);
        default: return message.has(row.field);
      }
    };
    for (const Row& row : kRows) {
      if (!likened.test(ExpectedKeys::behind(&row))) continue;
      if (counts(row)) return std::string(row.key());
    }
    return {};
  }

  // `"error":null` beside a result, or `"result":null` beside an error, as JSON-RPC 1.0 wrote them. The
  // meaning is clear, and strict clients would refuse a message with both.
  Field spare_member() const {
    if (!duplicate.empty() || !message.has(Field::result) || !message.has(Field::error)) return Field::count_;
    if (message.raw(Field::error) == "null") return Field::error;
    const bool error = message.raw(Field::result) == "null" && message.is_object(Field::error);
    return error ? Field::result : Field::count_;
  }
  // The object that is the message, read up to `behind`.
  json::Span whole(const char* behind) const {
    const char* first = std::find(begin, end, '{');
    const char* last = behind;
    while (last > first && last[-1] != '}')
      --last;
    return {offset(first), offset(last)};
  }

  // The fault in the JSON-RPC shape, or empty. Sets the kind and the method.
  std::string judge() {
    if (!duplicate.empty()) return "the key \"" + duplicate + "\" stands twice in one object";
    if (const std::string like = likeness(); !like.empty())
      return "a key differs from \"" + like + "\" in its case alone";
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
    const std::string_view raw_id = message.raw(Field::id);
    if (method) {
      message.kind_ = id ? MessageKind::request : MessageKind::notification;
    } else {
      message.kind_ = result ? MessageKind::result : MessageKind::error;
    }
    if (result && !id) return "a result needs an \"id\"";
    if (id && !is_legal_id(raw_id) && !(error && raw_id == "null")) {
      return "\"id\" must be a string or an integer";
    }
    if (id && method && raw_id.size() > kMaxIdBytes)
      return "\"id\" must not have more than " + std::to_string(kMaxIdBytes) + " bytes";
    if (method && !message.is_string(Field::method)) return "\"method\" must be a string";
    // Libraries write null for absent params, and servers accept it.
    if (message.has(Field::params) && !message.is_object(Field::params) &&
        message.raw(Field::params) != "null")
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
  // An outline lets walks skip large values. Texts that did not arrive in pieces need one too: on several
  // lines of an event, or from a plugin.
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
    out.error().too_deep = end.fault == json::Fault::depth;
  } else if (first == '[') {
    refuse(Kind::batch, "batches are not supported");
  } else if (first != '{') {
    refuse(Kind::invalid_request, "a message must be an object");
  } else if (const Field spare = parser.spare_member(); spare != Field::count_) {
    json::Splice splice(out->bytes_);
    splice.remove_member(parser.whole(end.at), out->key_at(spare), out->at(spare));
    return parse(json::Text{splice.apply(), nullptr}, max_depth);
  } else if (std::string wrong = parser.judge(); !wrong.empty()) {
    const bool id_known = !parser.id_twice && !parser.likened.test(kRowOfId);
    const std::string_view id = !id_known ? std::string_view() : out->raw(Field::id);
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
