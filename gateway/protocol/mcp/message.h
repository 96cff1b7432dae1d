// A JSON-RPC message: its original bytes, and the positions of the few fields that a gateway reads.
//
// A message is movable (fields are offsets) and never re-serialised: change it through json::Splice and use
// the result. A duplicate of a key that Lineward reads (after unescaping) refuses the message: the server
// could use the other value. Keys compare exactly: "Method" is not "method". Some decoders ignore case; a
// message in which they would find a different field is refused too.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/json/json_scan.h"
#include "foundation/json/json_splice.h"

namespace lineward::mcp {

// Ids are stored as long as their calls, and looked up by every cancel.
inline constexpr size_t kMaxIdBytes = 1024;  // of the JSON text

// The limit for objects that are searched for keys: the top, params, result, error and their _meta.
inline constexpr size_t kMaxMembers = 16 * 1024;

enum class MessageKind : uint8_t { request, notification, result, error };

// Every field that Lineward reads. The table in message.cc has its path; one row each.
enum class Field : uint8_t {
  id,
  method,
  params,
  result,
  error,
  // params
  params_meta,
  params_name,
  params_uri,
  params_cursor,
  params_request_id,  // notifications/cancelled
  params_reason,
  params_progress_token,  // notifications/progress
  params_level,           // logging/setLevel, notifications/message
  params_notifications,   // subscriptions/listen, notifications/subscriptions/acknowledged
  params_arguments,
  params_protocol_version,  // initialize
  params_capabilities,
  params_client_info,
  params_request_state,
  params_input_responses,
  params_task,
  params_task_id,
  // params._meta
  meta_progress_token,
  meta_protocol_version,     // io.modelcontextprotocol/protocolVersion
  meta_client_capabilities,  // io.modelcontextprotocol/clientCapabilities
  meta_client_info,          // io.modelcontextprotocol/clientInfo
  meta_log_level,            // io.modelcontextprotocol/logLevel
  meta_subscription_id,      // io.modelcontextprotocol/subscriptionId
  meta_timeout_ms,           // io.lineward/timeoutMs
  meta_traceparent,
  // result
  result_meta,
  result_type,      // resultType
  result_is_error,  // isError
  result_task,
  result_supported_versions,
  result_protocol_version,
  result_capabilities,
  result_server_info,
  result_next_cursor,
  result_ttl_ms,
  result_cache_scope,
  result_content,
  result_structured_content,
  result_messages,
  result_contents,
  result_request_state,
  result_task_id,
  result_result,  // of tasks/get
  result_tools,
  result_prompts,
  result_resources,
  result_resource_templates,
  result_tasks,
  result_instructions,
  // result._meta
  result_subscription_id,  // io.modelcontextprotocol/subscriptionId
  result_meta_server_info,
  // error
  error_code,
  error_message,
  error_data,
  error_data_supported,  // error.data.supported of -32022
  count_
};

struct MessageFault {
  enum class Kind : uint8_t { not_json, invalid_request, batch };  // -32700, -32600, -32600
  // The intended kind, if the members show it clearly. A message with a method is not an answer, so no
  // request waits for it, whatever id it has. A message with a result or an error and no method is an answer,
  // with an id of the other side.
  enum class Meant : uint8_t { unknown, notification, request, answer };
  Kind kind = Kind::not_json;
  std::string text;    // for a person
  std::string raw_id;  // the id's JSON text if one was read and is legal, else empty
  std::string bytes;   // the refused text
  Meant meant = Meant::unknown;
  bool too_deep = false;  // exceeds the depth given to parse()

  bool names_method() const { return meant == Meant::notification || meant == Meant::request; }
  // The id for the refusal. An answer's id is never used: a call of the sender's own may have the same id.
  std::string_view id_to_refuse() const {
    return meant == Meant::answer ? std::string_view() : std::string_view(raw_id);
  }
};

// A message with its located parts. Created only by Message::parse.
class Message {
 public:
  Message() { near_[0] = {}; }
  // Checks the whole text and the JSON-RPC shape: one object, "jsonrpc":"2.0", params an object or null,
  // exactly one of method, result and error. The id is a string or an integer (1.0 counts; null, 1.5, objects
  // do not) of at most kMaxIdBytes. A null in place of the other one of result and error is removed.
  static Result<Message, MessageFault> parse(std::string bytes, int max_depth = json::kMaxDepth) {
    return parse(json::Text{std::move(bytes), nullptr}, max_depth);
  }
  // An existing outline of the text is reused, and passed on to splice().
  static Result<Message, MessageFault> parse(json::Text text, int max_depth = json::kMaxDepth);

  MessageKind kind() const { return kind_; }
  const std::string& bytes() const { return bytes_; }
  std::string take_bytes() && { return std::move(bytes_); }

  bool has(Field f) const { return index_[static_cast<size_t>(f)] != 0; }
  json::Span at(Field f) const { return {place(f).begin, place(f).end}; }
  // The position of the field's key, between its quotes.
  json::Span key_at(Field f) const { return {place(f).key, place(f).key_end}; }
  // The value's original JSON text, e.g. `"a\u0062"` or `1.0`; empty when absent.
  std::string_view raw(Field f) const { return at(f).in(bytes_); }
  // The decoded text of a string value; empty when absent or not a string (see is_string).
  std::string text(Field f) const;
  bool text_is(Field f, std::string_view text) const;  // a string that decodes to `text`
  bool is_string(Field f) const { return has(f) && raw(f).front() == '"'; }
  bool is_object(Field f) const { return has(f) && raw(f).front() == '{'; }

  const std::string& method() const { return method_; }  // decoded; empty for results and errors
  const json::OutlinePtr& outline() const { return outline_; }
  // The number of bytes of the field that a walk has to examine: without long strings, if an outline knows
  // them; else its full size.
  size_t bytes_to_walk(Field f) const {
    return outline_ ? outline_->bytes_beside_strings(bytes_, at(f)) : at(f).size();
  }
  json::Splice splice() const { return json::Splice(bytes_, outline_); }

 private:
  friend struct MessageParser;
  std::string bytes_;
  json::OutlinePtr outline_;
  std::string method_;
  MessageKind kind_ = MessageKind::notification;
  // A message has few of the fields and is moved often: present fields are packed, usually without an
  // allocation. The first place stands for absent fields.
  struct Place {
    uint32_t key, key_end;
    uint32_t begin, end;  // of the value
  };
  static constexpr size_t kNear = 12;
  const Place& place(Field f) const {
    const size_t i = index_[static_cast<size_t>(f)];
    return i < kNear ? near_[i] : far_[i - kNear];
  }
  [[gnu::always_inline]] void set(Field f, const Place& found) {
    (places_ < kNear ? near_[places_] : far_.emplace_back()) = found;
    index_[static_cast<size_t>(f)] = places_++;
  }
  // Indices into the places; the last entry is that of "jsonrpc".
  std::array<uint8_t, static_cast<size_t>(Field::count_) + 1> index_{};
  uint8_t places_ = 1;
  std::array<Place, kNear> near_;  // initialised up to places_
  std::vector<Place> far_;
};

// A canonical form of an id or token, for comparison: type tag and unescaped text. 1 and 1.0 are equal, "1"
// is another id. `raw` is JSON text.
std::string canonical_id(std::string_view raw);

}  // namespace lineward::mcp
