// The keys that Message looks up, for message.cc only: the object of each key, and its lookup. Key lookup is
// a large part of a message's cost, so there are two ways. The next expected key is compared together with
// its quotes and colon; any other key is found in a table without collisions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "foundation/json/json_case.h"
#include "foundation/json/json_grammar.h"
#include "protocol/mcp/message.h"

namespace lineward::mcp {

// The objects with keys that are read. All others are validated and skipped.
enum class Level : uint8_t { top, params, params_meta, result, result_meta, error, error_data, none };

// Fits a cache line: most keys are found by reading one row.
struct alignas(64) Row {
  constexpr Row(Level in, std::string_view key, Field found, Level opens = Level::none)
      : where(in), field(found), inside(opens), size(static_cast<uint8_t>(key.size() + 3)) {
    char* to = written.data();
    *to++ = '"';
    for (const char c : key)
      *to++ = c;
    *to++ = '"';
    *to++ = ':';
  }
  constexpr std::string_view key() const { return {written.data() + 1, size - 3U}; }

  Level where;
  Field field;
  Level inside;  // the level that an object in this field opens
  uint8_t size;
  std::array<char, 60> written{};  // the usual spelling, `"id":`
};

constexpr Field kVersion = Field::count_;  // "jsonrpc": used only here

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

// Length, first, middle and last byte distinguish the rows of a level: a slot has the row's number (from 1)
// that a key may match. If a new row collides, choose other factors.
constexpr size_t kSlots = 64;
constexpr size_t slot_of(std::string_view key) {
  const auto byte = [key](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(key[at])); };
  return (key.size() + byte(0) * 2 + byte(key.size() - 1) * 7 + byte(key.size() / 2) * 12) % kSlots;
}
using Slots = std::array<uint8_t, kSlots>;
constexpr auto all_slots() {
  std::array<Slots, static_cast<size_t>(Level::none)> all{};
  for (size_t i = 0; i < std::size(kRows); ++i)
    all[static_cast<size_t>(kRows[i].where)][slot_of(kRows[i].key())] = static_cast<uint8_t>(i + 1);
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

// Both have this size, at least 1.
LW_INLINE inline bool same_bytes(const char* a, const char* b, size_t size) {
  for (; size > 16; a += 16, b += 16, size -= 16) {
    if (!same_ends<uint64_t>(a, b, 16)) return false;
  }
  if (size >= 8) return same_ends<uint64_t>(a, b, size);
  if (size >= 4) return same_ends<uint32_t>(a, b, size);
  return size == 1 ? *a == *b : same_ends<uint16_t>(a, b, size);
}

LW_INLINE inline const Row* find_row(const Slots& slots, std::string_view key) {
  if (key.empty()) return nullptr;
  const size_t slot = slots[slot_of(key)];
  if (slot == 0) return nullptr;
  const std::string_view known = kRows[slot - 1].key();
  const bool same = known.size() == key.size() && same_bytes(known.data(), key.data(), key.size());
  return same ? &kRows[slot - 1] : nullptr;
}
inline const Row* find_escaped_row(const Slots& slots, std::string_view key) {
  return find_row(slots, json::unescape(key));
}

// The first letters of a level's keys of each length, a bit for each letter in either case: most unknown
// ASCII keys have another.
constexpr size_t kMaxKnownKey = 64;
using FirstLetters = std::array<uint32_t, kMaxKnownKey>;
constexpr uint32_t letter_bit(char first) {
  return uint32_t{1} << (static_cast<unsigned char>(first) % 32);
}
constexpr auto all_first_letters() {
  std::array<FirstLetters, static_cast<size_t>(Level::none)> all{};
  for (const Row& row : kRows)
    all[static_cast<size_t>(row.where)][row.key().size()] |= letter_bit(row.key().front());
  return all;
}
constexpr auto kFirstLettersOf = all_first_letters();

// The rows of a level stand together: the first one, and the one behind the last.
struct RowSpan {
  uint8_t first = 0, behind = 0;
};
constexpr auto all_spans() {
  std::array<RowSpan, static_cast<size_t>(Level::none)> all{};
  for (size_t i = 0; i < std::size(kRows); ++i) {
    RowSpan& span = all[static_cast<size_t>(kRows[i].where)];
    if (span.behind == 0) span.first = static_cast<uint8_t>(i);
    span.behind = static_cast<uint8_t>(i + 1);
  }
  return all;
}
constexpr auto kSpanOf = all_spans();

constexpr bool every_level_is_one_span() {
  size_t rows = 0;
  for (const RowSpan span : kSpanOf)
    rows += static_cast<size_t>(span.behind - span.first);
  return rows == std::size(kRows);
}
static_assert(every_level_is_one_span());

// The row that some decoders would match this unknown key to (foundation/json/json_case.h).
inline const Row* find_likeness(Level level, std::string_view key, bool escaped) {
  if (escaped) return find_likeness(level, json::unescape(key), false);
  if (key.empty()) return nullptr;
  const bool ascii =
      std::none_of(key.begin(), key.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  const FirstLetters& letters = kFirstLettersOf[static_cast<size_t>(level)];
  if (ascii && (key.size() >= kMaxKnownKey || (letters[key.size()] & letter_bit(key.front())) == 0))
    return nullptr;
  const RowSpan span = kSpanOf[static_cast<size_t>(level)];
  for (size_t i = span.first; i < span.behind; ++i) {
    const std::string_view known = kRows[i].key();
    if (ascii && !json::may_differ_in_case_alone(key, known)) continue;
    if (json::differs_in_case_alone(key, known)) return &kRows[i];
  }
  return nullptr;
}

// The order of keys: a sender writes its keys in a constant order, so the next key is usually that of the
// previous message. Affects speed only. Each thread has one, for all its messages.
class ExpectedKeys {
 public:
  // The expected position of a key: after a row's key, or at the beginning of a level.
  using Place = uint8_t;
  static constexpr Place first_in(Level level) {
    return static_cast<Place>(std::size(kRows) + static_cast<size_t>(level));
  }
  static constexpr Place behind(const Row* row) { return static_cast<Place>(row - kRows); }

  constexpr ExpectedKeys() {
    for (size_t i = 0; i < std::size(kRows); ++i) {
      const uint8_t row = static_cast<uint8_t>(i);
      next_[i] = next_[first_in(kRows[i].where)] = {row, row};
    }
  }

  // The row of the key at `at`, if it was expected; `at` is moved behind its colon. Null: the key may be any.
  LW_INLINE const Row* match(Place place, const char*& at, const char* end) const {
    const Rows rows = next_[place];
    for (const uint8_t row : {rows.last, rows.before}) {
      if (stands(kRows[row], at, end)) return &kRows[row];
    }
    return nullptr;
  }
  // The row's key was found there. A key with white space is never matched.
  void learn(Place place, const Row* row) {
    Rows& rows = next_[place];
    if (rows.last != behind(row)) rows = {behind(row), rows.last};
  }

 private:
  LW_INLINE static bool stands(const Row& row, const char*& at, const char* end) {
    if (end - at < row.size || !same_bytes(row.written.data(), at, row.size)) return false;
    at += row.size;
    return true;
  }

  // Two candidates, since requests and answers differ after their ids, and alternate. They are rows of the
  // place's own level: the same key has another meaning elsewhere.
  struct Rows {
    uint8_t last, before;
  };
  std::array<Rows, std::size(kRows) + static_cast<size_t>(Level::none)> next_{};
};
static_assert(std::size(kRows) + static_cast<size_t>(Level::none) < 256);

}  // namespace lineward::mcp
