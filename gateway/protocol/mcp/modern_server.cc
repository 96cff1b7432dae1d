#include "protocol/mcp/modern_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "foundation/json/json_member.h"
#include "protocol/mcp/cache_hints.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/output_schema.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

json::Span span_in(const Message& message, std::string_view part) {
  auto begin = static_cast<uint32_t>(part.data() - message.bytes().data());
  return {begin, begin + static_cast<uint32_t>(part.size())};
}

// Tasks differ between the eras (core in 2025-11-25, an extension now): they are not translated.
std::string capabilities_without_tasks(std::string_view capabilities) {
  std::string out;
  json::for_each_member(capabilities, [&](const std::string& key, std::string_view value) {
    if (key == "tasks") return;
    std::string kept = key == "extensions" && json::member(value, kTasksExtension)
                           ? json::without_member(value, kTasksExtension)
                           : std::string(value);
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json::quote(key), kept);
  });
  return "{" + out + "}";
}

std::string envelope(const LegacyClient& client, Method method) {
  std::string level;
  bool list = has_cache_hints(method) && !may_ask(method);
  if (!list || client.set_level)
    level = fmt::format(R"(,"io.modelcontextprotocol/logLevel":{})", json::quote(client.log_level));
  return fmt::format(
      R"("io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientInfo":{},)"
      R"("io.modelcontextprotocol/clientCapabilities":{}{})",
      kNewestModern, client.info, client.capabilities, level);
}

std::string negotiated(const std::string& wanted, Wire wire) {
  const Revision* revision = find_revision(wanted);
  bool ours = revision != nullptr && revision->era == Era::legacy && is_served(*revision, wire);
  return ours ? wanted : std::string(kNewestLegacy);
}

void wrap_schemas(const Message& answer, json::Splice& splice, WrappedTools& wrapped) {
  const std::string_view tools = answer.raw(Field::result_tools);
  json::Cursor cursor(tools);
  if (!cursor.at_array() || !cursor.enter_array()) return;
  json::Span element;
  while (cursor.next_element() && cursor.skip(element)) {
    std::string_view tool = element.in(tools);
    std::string name = json::string_value(json::member(tool, "name"));
    auto schema = json::member(tool, "outputSchema");
    if (!schema || is_object_schema(*schema)) {
      wrapped.erase(name);
      continue;
    }
    if (wrapped.size() < kMaxWrappedTools) wrapped.insert(name);
    splice.replace(span_in(answer, *schema), wrapped_schema(*schema));
  }
}

// Codes unknown to legacy revisions become known ones, with the fault in the text.
void make_readable(const Message& error, Method method, json::Splice& splice) {
  int code = error_code(error);
  std::string_view data = error.raw(Field::error_data);
  if (code == kInvalidParams && method == Method::resources_read && json::member(data, "uri")) {
    return splice.replace(error.at(Field::error_code), std::to_string(kLegacyResourceNotFound));
  }
  if (!error.is_string(Field::error_message)) return;
  std::string said = error.text(Field::error_message);
  if (code == kMissingClientCapability) {
    std::string names;
    json::for_each_member(json::member(data, "requiredCapabilities").value_or("{}"),
                          [&](const std::string& key, std::string_view) { names += " " + key; });
    if (names.empty()) return;
    said += fmt::format(" (the server needs what this client did not declare at initialize:{})", names);
  } else if (code == kHeaderMismatch || code == kUnsupportedVersion) {
    said += " (between the gateway and the server)";
  } else {
    return;
  }
  splice.replace(error.at(Field::error_message), json::quote(said));
}

}  // namespace

std::optional<ModernServer> read_discover_result(const Message& answer) {
  auto versions = spoken_versions(answer.raw(Field::result_supported_versions));
  bool modern = std::any_of(versions.begin(), versions.end(),
                            [](const auto& version) { return find_revision(version)->era == Era::modern; });
  if (!modern) return std::nullopt;
  ModernServer server;
  server.info = R"({"name":"unknown","version":"0"})";
  for (Field field : {Field::result_server_info, Field::result_meta_server_info}) {
    if (answer.is_object(field)) server.info = std::string(answer.raw(field));
  }
  std::string_view capabilities =
      answer.is_object(Field::result_capabilities) ? answer.raw(Field::result_capabilities) : "{}";
  server.capabilities = capabilities_without_tasks(capabilities);
  if (answer.is_string(Field::result_instructions))
    server.instructions = answer.raw(Field::result_instructions);
  read_capability_flags(capabilities, server);
  return server;
}

LegacyClient read_initialize_params(const Message& initialize, Wire wire) {
  LegacyClient client;
  client.revision = negotiated(initialize.text(Field::params_protocol_version), wire);
  client.info = initialize.is_object(Field::params_client_info)
                    ? std::string(initialize.raw(Field::params_client_info))
                    : R"({"name":"unknown","version":"0"})";
  client.capabilities = initialize.is_object(Field::params_capabilities)
                            ? capabilities_without_tasks(initialize.raw(Field::params_capabilities))
                            : "{}";
  return client;
}

std::string initialize_answer(const ModernServer& server, const LegacyClient& client) {
  std::string instructions =
      server.instructions.empty() ? "" : fmt::format(R"(,"instructions":{})", server.instructions);
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{}","capabilities":{},"serverInfo":{}{}}}}})",
      client.revision, server.capabilities, server.info, instructions);
}

std::string legacy_message_for_modern(const Message& message, const LegacyClient& client,
                                      const InputRetry* retry) {
  json::Splice splice = message.splice();
  std::string members = envelope(client, method_of(message.method()));
  if (!message.is_object(Field::params)) {
    std::string params = fmt::format(R"({{"_meta":{{{}}}}})", members);
    if (message.has(Field::params)) {  // null
      splice.replace(message.at(Field::params), std::move(params));
    } else {
      splice.insert(message.at(Field::method).end, R"(,"params":)" + params);
    }
    return splice.apply();
  }
  json::Span params = message.at(Field::params);
  if (message.is_object(Field::params_meta)) {
    json::Span meta = message.at(Field::params_meta);
    constexpr std::array kOurs{Field::meta_protocol_version, Field::meta_client_info,
                               Field::meta_client_capabilities, Field::meta_log_level};
    for (Field field : kOurs) {
      if (message.has(field)) splice.remove_member(meta, message.key_at(field), message.at(field));
    }
    std::string text = members.substr(members.find(':') + 1);
    // A single addition; its value contains the members that follow it.
    splice.add_member(meta, "io.modelcontextprotocol/protocolVersion", text);
  } else if (message.has(Field::params_meta)) {
    splice.replace(message.at(Field::params_meta), "{" + members + "}");
  } else {
    splice.add_member(params, "_meta", "{" + members + "}");
  }
  for (Field field : {Field::params_input_responses, Field::params_request_state, Field::params_task}) {
    if (message.has(field)) splice.remove_member(params, message.key_at(field), message.at(field));
  }
  if (retry != nullptr) {
    if (!retry->state.empty()) splice.add_member(params, "requestState", retry->state);
    std::string responses;
    for (const auto& [key, value] : retry->responses)
      responses += fmt::format("{}{}:{}", responses.empty() ? "" : ",", json::quote(key), value);
    if (!responses.empty()) splice.add_member(params, "inputResponses", "{" + responses + "}");
  }
  return splice.apply();
}

std::string discover_for_client(const LegacyClient& client) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{"_meta":{{{}}}}}}})",
                     envelope(client, Method::server_discover));
}

std::string listen_for_client(const LegacyClient& client, std::string_view filter) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"method":"subscriptions/listen","params":{{"_meta":{{{}}},"notifications":{}}}}})",
      envelope(client, Method::subscriptions_listen), filter);
}

// ---- questions ----

bool is_input_required(const Message& answer) {
  return answer.kind() == MessageKind::result && answer.text(Field::result_type) == "input_required";
}

bool is_known_result(const Message& answer, const LegacyClient& client) {
  if (answer.kind() != MessageKind::result || !answer.has(Field::result_type)) return true;
  std::string type = answer.text(Field::result_type);
  return type == "complete" ||
         (type != "task" && !type.empty() && json::member(client.capabilities, "extensions"));
}

namespace {

void add_request(InputRequired& out, const std::string& key, std::string_view value, size_t most) {
  InputRequest request;
  request.key = key;
  request.method = json::string_value(json::member(value, "method"));
  request.params = std::string(json::member(value, "params").value_or(std::string_view()));
  Method method = method_of(request.method);
  bool needs_params = method == Method::elicitation_create || method == Method::sampling_create_message;
  bool twice = std::any_of(out.requests.begin(), out.requests.end(),
                           [&](const InputRequest& other) { return other.key == key; });
  if (!needs_params && method != Method::roots_list) {
    out.fault = "an input request of a kind that does not exist";
  } else if (needs_params && (request.params.empty() || request.params.front() != '{')) {
    out.fault = "an input request without parameters";
  } else if (twice) {
    out.fault = "two input requests under one key";
  } else if (out.requests.size() >= most) {
    out.fault = fmt::format("more than {} input requests at once", most);
  } else {
    out.requests.push_back(std::move(request));
  }
}

}  // namespace

InputRequired read_input_required(const Message& answer, size_t most_requests) {
  InputRequired out;
  std::string_view requests;
  json::for_each_member(answer.raw(Field::result), [&](const std::string& key, std::string_view value) {
    if (key == "inputRequests") requests = value;
    if (key == "requestState") out.state = std::string(value);
  });
  if (!out.state.empty() && out.state.front() != '"') out.fault = "a requestState that is no string";
  bool object = requests.empty() ||
                json::for_each_member(requests, [&](const std::string& key, std::string_view value) {
                  if (out.fault.empty()) add_request(out, key, value, most_requests);
                });
  if (!object) out.fault = "inputRequests that are no object";
  if (out.fault.empty() && out.requests.empty() && out.state.empty())
    out.fault = "an input_required result with neither inputRequests nor requestState";
  return out;
}

bool is_url_elicitation(const InputRequest& request) {
  return request.method == "elicitation/create" &&
         json::string_value(json::member(request.params, "mode")) == "url";
}

std::string question_for_legacy(const InputRequest& request, int64_t id, std::string_view revision,
                                std::string_view elicitation_id) {
  std::string params = request.params;
  if (is_url_elicitation(request)) {
    std::string rest = json::without_member(params, "elicitationId");
    params = fmt::format(R"({{"elicitationId":{},{})", json::quote(elicitation_id), rest.substr(1));
  } else if (request.method == "elicitation/create" && revision < "2025-11-25") {
    if (json::member(params, "mode"))
      params = json::without_member(params, "mode");  // there was one mode only
  }
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":{}{}{}}})", id, json::quote(request.method),
                     params.empty() ? "" : R"(,"params":)", params);
}

// ---- answers ----

std::optional<json::Text> modern_answer_for_legacy(const Message& answer, Method method,
                                                   const std::string& tool, WrappedTools& wrapped) {
  json::Splice splice = answer.splice();
  if (answer.kind() == MessageKind::error) {
    make_readable(answer, method, splice);
  } else if (method == Method::tools_list) {
    wrap_schemas(answer, splice, wrapped);
  } else if (method == Method::tools_call) {
    constexpr Field kContent = Field::result_structured_content;
    if (answer.has(kContent) && (!answer.is_object(kContent) || wrapped.contains(tool)))
      splice.replace(answer.at(kContent), fmt::format(R"({{"result":{}}})", answer.raw(kContent)));
  }
  if (splice.empty()) return std::nullopt;
  return splice.apply_outlined();
}

std::string listen_notification_for_legacy(const Message& notification) {
  if (!notification.has(Field::meta_subscription_id)) return notification.bytes();
  json::Splice splice = notification.splice();
  size_t members = 0;
  json::for_each_member(notification.raw(Field::params_meta),
                        [&](const std::string&, std::string_view) { ++members; });
  if (members == 1) {
    splice.remove_member(notification.at(Field::params), notification.key_at(Field::params_meta),
                         notification.at(Field::params_meta));
  } else {
    splice.remove_member(notification.at(Field::params_meta),
                         notification.key_at(Field::meta_subscription_id),
                         notification.at(Field::meta_subscription_id));
  }
  return splice.apply();
}

}  // namespace lineward::mcp
