#include "protocol/mcp/legacy_server.h"

#include <fmt/format.h>

#include <array>

#include "foundation/json/json_member.h"
#include "protocol/mcp/cache_hints.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/revision.h"

namespace lineward::mcp {
namespace {

// All supported versions, since Lineward translates to legacy ones too. The client side cuts the list to the
// transport.
std::string supported_versions() {
  std::string list;
  for (const Revision& revision : kRevisions)
    list += fmt::format(R"({}"{}")", list.empty() ? "" : ",", revision.name);
  return "[" + list + "]";
}

}  // namespace

bool is_initialize_result(const Message& answer) {
  return answer.kind() == MessageKind::result && !answer.text(Field::result_protocol_version).empty();
}

LegacyServer read_initialize_result(std::string_view result) {
  LegacyServer server;
  server.info = R"({"name":"unknown","version":"0"})";
  std::string_view capabilities = "{}";
  json::for_each_member(result, [&](const std::string& key, std::string_view value) {
    if (key == "protocolVersion") server.revision = json::string_value(value);
    if (key == "serverInfo" && value.front() == '{') server.info = std::string(value);
    if (key == "instructions" && value.front() == '"') server.instructions = std::string(value);
    if (key == "capabilities" && value.front() == '{') capabilities = value;
  });
  json::for_each_member(capabilities, [&](const std::string& key, std::string_view value) {
    if (key == "tasks") return;
    server.capabilities +=
        fmt::format("{}{}:{}", server.capabilities.empty() ? "" : ",", json::quote(key), value);
  });
  server.capabilities = "{" + server.capabilities + "}";
  read_capability_flags(capabilities, server);
  return server;
}

std::string modern_request_for_legacy(const Message& request, int64_t id) {
  json::Splice splice = request.splice();
  std::string ours = std::to_string(id);
  splice.replace(request.at(Field::id), ours);
  if (request.is_object(Field::params_meta)) {
    size_t members = 0;
    json::for_each_member(request.raw(Field::params_meta),
                          [&](const std::string&, std::string_view) { ++members; });
    size_t cut = 0;
    constexpr std::array kModernOnly{Field::meta_protocol_version, Field::meta_client_capabilities,
                                     Field::meta_client_info, Field::meta_log_level, Field::meta_timeout_ms};
    for (Field field : kModernOnly)
      cut += request.has(field) ? 1 : 0;
    json::Span meta = request.at(Field::params_meta);
    if (cut == members) {
      splice.remove_member(request.at(Field::params), request.key_at(Field::params_meta), meta);
    } else {
      for (Field field : kModernOnly) {
        if (request.has(field)) splice.remove_member(meta, request.key_at(field), request.at(field));
      }
      if (request.has(Field::meta_progress_token))
        splice.replace(request.at(Field::meta_progress_token), ours);
    }
  }
  // `task` would create a task of 2025-11-25: the client could not request its result.
  for (Field field : {Field::params_input_responses, Field::params_request_state, Field::params_task}) {
    if (request.has(field))
      splice.remove_member(request.at(Field::params), request.key_at(field), request.at(field));
  }
  return splice.apply();
}

json::Text legacy_answer_for_modern(const Message& answer, Method method, const LegacyServer& server) {
  json::Splice splice = answer.splice();
  if (answer.kind() == MessageKind::error) {
    if (error_code(answer) == kLegacyResourceNotFound) {
      splice.replace(answer.at(Field::error_code), std::to_string(kInvalidParams));
    }
    return splice.apply_outlined();
  }
  if (!answer.is_object(Field::result)) return {answer.bytes(), answer.outline()};
  json::Span result = answer.at(Field::result);
  // A legacy server's member of that name has another meaning.
  auto put = [&](Field field, std::string_view name, std::string_view value) {
    if (!answer.has(field)) {
      splice.add_member(result, name, value);
    } else if (answer.raw(field) != value) {
      splice.replace(answer.at(field), std::string(value));
    }
  };
  put(Field::result_type, "resultType", R"("complete")");
  if (answer.is_object(Field::result_meta)) {
    if (!answer.has(Field::result_meta_server_info)) {
      splice.add_member(answer.at(Field::result_meta), "io.modelcontextprotocol/serverInfo", server.info);
    }
  } else if (!answer.has(Field::result_meta)) {
    splice.add_member(result, "_meta",
                      fmt::format(R"({{"io.modelcontextprotocol/serverInfo":{}}})", server.info));
  }
  if (has_cache_hints(method)) {
    put(Field::result_ttl_ms, "ttlMs", "0");
    put(Field::result_cache_scope, "cacheScope", R"("private")");
  }
  return splice.apply_outlined();
}

std::string answer_in_its_place(Method method, const LegacyServer& server) {
  switch (method) {
    case Method::server_discover: return discover_answer(server);
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel:
    case Method::tasks_list:
    case Method::tasks_result:
      return error_message("0", kMethodNotFound,
                           "Method not found: the server behind does not know the tasks extension");
    default: return {};
  }
}

std::string discover_answer(const LegacyServer& server) {
  std::string instructions =
      server.instructions.empty() ? "" : fmt::format(R"(,"instructions":{})", server.instructions);
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"result":{{"resultType":"complete","supportedVersions":{},"capabilities":{}{},)"
      R"("ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}}})",
      supported_versions(), server.capabilities, instructions, server.info);
}

std::optional<NeededCapability> capability_for(const Message& question) {
  switch (method_of(question.method())) {
    case Method::elicitation_create: {
      bool url = json::string_value(json::member(question.raw(Field::params), "mode")) == "url";
      return NeededCapability{"elicitation", url ? R"({"elicitation":{"url":{}}})" : R"({"elicitation":{}})"};
    }
    case Method::sampling_create_message: {
      std::string_view params = question.raw(Field::params);
      bool tools = json::member(params, "tools") || json::member(params, "toolChoice");
      return NeededCapability{"sampling", tools ? R"({"sampling":{"tools":{}}})" : R"({"sampling":{}})"};
    }
    case Method::roots_list: return NeededCapability{"roots", R"({"roots":{}})"};
    default: return std::nullopt;
  }
}

std::string missing_capability(std::string_view raw_id, const NeededCapability& needed) {
  return error_message(raw_id, kMissingClientCapability,
                       "the server needs a capability that this client did not declare: " + needed.name,
                       fmt::format(R"({{"requiredCapabilities":{}}})", needed.object));
}

std::optional<int> log_level(std::string_view name) {
  constexpr std::array<std::string_view, 8> kLevels{"debug", "info",     "notice", "warning",
                                                    "error", "critical", "alert",  "emergency"};
  for (size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::vector<std::string> notices_of_lost_state(const LegacyServer& server, std::string_view name,
                                               std::string_view level_params) {
  std::vector<std::string> out;
  auto level = log_level(json::string_value(json::member(level_params, "level")));
  if (!level || *level <= *log_level("warning")) {
    std::string text = fmt::format(
        "what {} kept for this session is gone, since the server was started anew; the session goes on "
        "without it",
        name);
    out.push_back(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"warning","logger":"lineward","data":{}}}}})",
        json::quote(text)));
  }
  for (std::string& notice : notices_of_changed_lists(server))
    out.push_back(std::move(notice));
  return out;
}

std::vector<std::string> notices_of_changed_lists(const LegacyServer& server) {
  std::vector<std::string> out;
  auto changed = [&](bool told, std::string_view what) {
    if (told)
      out.push_back(fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed"}})", what));
  };
  changed(server.tools_list_changed, "tools");
  changed(server.prompts_list_changed, "prompts");
  changed(server.resources_list_changed, "resources");
  return out;
}

}  // namespace lineward::mcp
