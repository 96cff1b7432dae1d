// One JSON-RPC message: its bytes as they came, and where the few fields are that a gateway looks at.
//
// Moves freely (fields are offsets). Nothing is ever re-serialised: change it through json::Splice and take
// the result. A key that we read and that stands twice in its object (after unescaping) refuses the message:
// the server behind might read the other one. Keys compare exactly: "Method" is not "method"; but some
// decoders think so, and a message in which they would find another field than we do is refused as well.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/json_scan.h"
#include "json/json_splice.h"

namespace lineward::mcp {

// Ids are kept for as long as their calls are, and looked for by every cancel.
inline constexpr size_t kMaxIdBytes = 1024;  // of the JSON text

// Of an object whose keys are looked at: the top, params, result, error and their _meta.
inline constexpr size_t kMaxMembers = 16 * 1024;

enum class MessageKind : uint8_t { request, notification, result, error };

// Every place in a message that Lineward reads. The table in message.cc gives each its path; one row each.
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
  // What it was to be, where its members leave no doubt. What names a method can be no answer, so nobody
  // waits for it, whatever id stands in it; what has a result or an error and no method is an answer, whose
  // id is the other side's.
  enum class Meant : uint8_t { unknown, notification, request, answer };
  Kind kind = Kind::not_json;
  std::string text;    // for a person
  std::string raw_id;  // the id's JSON text where one was read and is legal, else empty
  std::string bytes;   // the text that was refused
  Meant meant = Meant::unknown;
  bool too_deep = false;  // by the depth that parse() was given

  bool names_method() const { return meant == Meant::notification || meant == Meant::request; }
  // The id to refuse it with: under an answer's a call of the sender's own may be under way.
  std::string_view id_to_refuse() const {
    return meant == Meant::answer ? std::string_view() : std::string_view(raw_id);
  }
};

// The located parts of a message. Get one from Message::parse only.
class Message {
 public:
  Message() { near_[0] = {}; }
  // Checks the whole text and the JSON-RPC shape: one object, "jsonrpc":"2.0", an id that is a string or an
  // integer (1.0 counts; null, 1.5, objects do not) of at most kMaxIdBytes, params an object or null, exactly
  // one of method | result | error. A null in the place of the other one of result and error is taken out.
  static Result<Message, MessageFault> parse(std::string bytes, int max_depth = json::kMaxDepth) {
    return parse(json::Text{std::move(bytes), nullptr}, max_depth);
  }
  // What is known of the text is not searched again, and stays known to splice().
  static Result<Message, MessageFault> parse(json::Text text, int max_depth = json::kMaxDepth);

  MessageKind kind() const { return kind_; }
  const std::string& bytes() const { return bytes_; }
  std::string take_bytes() && { return std::move(bytes_); }

  bool has(Field f) const { return index_[static_cast<size_t>(f)] != 0; }
  json::Span at(Field f) const { return {place(f).begin, place(f).end}; }
  // Where the field's key stands, between its quotes.
  json::Span key_at(Field f) const { return {place(f).key, place(f).key_end}; }
  // The value's JSON text as it came, e.g. `"a\u0062"` or `1.0`; empty when absent.
  std::string_view raw(Field f) const { return at(f).in(bytes_); }
  // The decoded text of a string value; empty when absent or not a string (see is_string).
  std::string text(Field f) const;
  bool text_is(Field f, std::string_view text) const;  // a string, and decoded this one
  bool is_string(Field f) const { return has(f) && raw(f).front() == '"'; }
  bool is_object(Field f) const { return has(f) && raw(f).front() == '{'; }

  const std::string& method() const { return method_; }  // decoded; empty for results and errors
  const json::OutlinePtr& outline() const { return outline_; }
  // How many bytes of the field a walk through it has to look at: without its long strings, where those are
  // known. What is not known costs what it has.
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
  // Few of the fields are in a message, and it is moved often: what is there stands close together, the usual
  // number of it without an allocation. The first place is for all that is not there.
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
  // Into the places; behind the fields stands that of "jsonrpc".
  std::array<uint8_t, static_cast<size_t>(Field::count_) + 1> index_{};
  uint8_t places_ = 1;
  std::array<Place, kNear> near_;  // written as far as places_ says
  std::vector<Place> far_;
};

// A form of an id or token by which equal ones compare equal: type tag and unescaped text; 1 and 1.0 are the
// same number, "1" is another id. `raw` is JSON text.
std::string canonical_id(std::string_view raw);

}  // namespace lineward::mcp
