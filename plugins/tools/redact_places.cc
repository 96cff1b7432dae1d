#include "plugins/tools/redact_places.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

namespace lineward::plugins {
namespace {

using mcp::Method;
using Paths = std::initializer_list<std::string_view>;
using Places = std::vector<Place>;

void add(Places& to, std::string_view root, Paths paths, Holds holds = Holds::name) {
  for (std::string_view path : paths) {
    auto at = parse_pointer(std::string(root) + std::string(path));
    if (at) to.push_back({std::move(*at), holds});
  }
}

// An implementation's description of itself: only its title and description are text.
void add_self(Places& to, std::string_view root) {
  add(to, root, {"/name", "/version", "/websiteUrl", "/icons"});
}

void add_meta(Places& to) {
  add(to, "/_meta",
      {"/progressToken", "/io.modelcontextprotocol~1subscriptionId",
       "/io.modelcontextprotocol~1protocolVersion", "/io.modelcontextprotocol~1related-task"});
  add_self(to, "/_meta/io.modelcontextprotocol~1serverInfo");
}

// Members of any result.
void add_common(Places& to) {
  add(to, "", {"/resultType", "/nextCursor", "/cacheScope", "/requestState"});
  add_meta(to);
}

// A server's description of itself; its instructions are text.
void add_server(Places& to) {
  add(to, "", {"/protocolVersion", "/supportedVersions", "/capabilities"});
  add_self(to, "/serverInfo");
}

void add_tools(Places& to) {
  add(to, "/tools/[]", {"/name", "/icons", "/execution", "/_meta/ui/resourceUri", "/_meta/ui~1resourceUri"});
  add(to, "/tools/[]", {"/inputSchema", "/outputSchema"}, Holds::schema);
}

void add_prompts(Places& to) {
  add(to, "/prompts/[]", {"/name", "/icons", "/arguments/[]/name"});
}

void add_resources(Places& to, std::string_view root) {
  add(to, root, {"/name", "/uri", "/uriTemplate", "/mimeType", "/icons", "/annotations"});
}

// A content block; a tool result contains blocks of its own.
void add_block(Places& to, const std::string& root) {
  add(to, root,
      {"/type", "/id", "/toolUseId", "/name", "/uri", "/mimeType", "/icons", "/annotations", "/resource/uri",
       "/resource/mimeType"});
}

void add_content(Places& to, const std::string& root) {
  add_block(to, root + "/content/[]");
  add_block(to, root + "/content/[]/content/[]");
}

// A message's block or blocks.
void add_messages(Places& to) {
  add(to, "/messages/[]", {"/role"});
  add_content(to, "/messages/[]");
  add_block(to, "/messages/[]/content");
  add_block(to, "/messages/[]/content/content/[]");
}

void add_task(Places& to, const std::string& root) {
  add(to, root, {"/taskId", "/status", "/createdAt", "/lastUpdatedAt"});
}

// The params of an elicitation. The form's schema has the names of the answer.
void add_elicitation(Places& to, const std::string& root) {
  add(to, root, {"/mode", "/elicitationId", "/url"});
  add(to, root, {"/requestedSchema"}, Holds::schema);
}

void add_sampling(Places& to, const std::string& root) {
  Places inner;
  add_messages(inner);
  add_tools(inner);
  add(inner, "", {"/modelPreferences/hints/[]/name", "/toolChoice", "/includeContext"});
  const auto prefix = root.empty() ? Pointer() : *parse_pointer(root);
  for (Place& place : inner) {
    place.at.insert(place.at.begin(), prefix.begin(), prefix.end());
    to.push_back(std::move(place));
  }
}

// A result that asks for input.
void add_input_requests(Places& to) {
  add(to, "/inputRequests/*", {"/method"});
  add_elicitation(to, "/inputRequests/*/params");
  add_sampling(to, "/inputRequests/*/params");
}

// The result of any call, and its copy in a task.
void add_outcome(Places& to, const std::string& root) {
  add_content(to, root);
  add(to, root, {"/contents/[]/uri", "/contents/[]/mimeType"});
}

Places of_result(Method method) {
  Places out;
  add_common(out);
  switch (method) {
    case Method::initialize:
    case Method::server_discover: add_server(out); break;
    case Method::tools_list: add_tools(out); break;
    case Method::prompts_list: add_prompts(out); break;
    case Method::resources_list: add_resources(out, "/resources/[]"); break;
    case Method::resources_templates_list: add_resources(out, "/resourceTemplates/[]"); break;
    case Method::tasks_list: add_task(out, "/tasks/[]"); break;
    case Method::prompts_get:
      add_messages(out);
      add_input_requests(out);
      break;
    default:
      add_task(out, "");
      add_task(out, "/task");
      add_outcome(out, "");
      add_outcome(out, "/result");
      add_input_requests(out);
      break;
  }
  return out;
}

Places of_params(Method method) {
  Places out;
  add(out, "", {"/progressToken", "/requestId", "/taskId", "/level"});
  add_meta(out);
  switch (method) {
    case Method::resources_updated: add(out, "", {"/uri"}); break;
    case Method::subscriptions_acknowledged: add(out, "", {"/notifications"}); break;
    case Method::elicitation_complete:
    case Method::elicitation_create: add_elicitation(out, ""); break;
    case Method::sampling_create_message: add_sampling(out, ""); break;
    case Method::other:  // the notification of a task's state
      add_task(out, "");
      add_outcome(out, "/result");
      add_input_requests(out);
      break;
    default: break;
  }
  return out;
}

using ByMethod = std::array<Places, static_cast<size_t>(Method::other) + 1>;
ByMethod by_method(Places (*of)(Method)) {
  ByMethod out;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = of(static_cast<Method>(i));
  return out;
}

// A client's answer to sampling, to a form and to roots/list. A form's content is the user's own.
void add_answer(Places& to, std::string_view root) {
  add(to, root,
      {"/resultType", "/action", "/role", "/model", "/stopReason", "/content/[]/type", "/content/[]/id",
       "/content/[]/toolUseId", "/content/[]/name", "/roots/[]/uri"});
}

}  // namespace

const std::vector<Place>& names_in_result(Method method) {
  static const ByMethod all = by_method(of_result);
  return all[static_cast<size_t>(method)];
}

const std::vector<Place>& names_in_params(Method method) {
  static const ByMethod all = by_method(of_params);
  return all[static_cast<size_t>(method)];
}

const std::vector<Place>& names_in_error() {
  static const Places all = [] {
    Places out;
    add(out, "/data", {"/supported", "/requested", "/requiredCapabilities", "/uri"});
    add_elicitation(out, "/data/elicitations/[]");
    return out;
  }();
  return all;
}

const std::vector<Place>& names_in_answer() {
  static const Places all = [] {
    Places out;
    add_answer(out, "");
    return out;
  }();
  return all;
}

NamesInParam names_in_param(std::string_view param) {
  static constexpr std::array<std::string_view, 16> kNames{
      "name",      "uri",         "cursor",          "ref",          "taskId",  "taskIds",
      "requestId", "traceparent", "progressToken",   "requestState", "baggage", "notifications",
      "level",     "tracestate",  "protocolVersion", "capabilities"};
  static const Places answers = [] {
    Places out;
    add_answer(out, "/*");
    return out;
  }();
  static const Places self = [] {
    Places out;
    add_self(out, "");
    return out;
  }();
  static const Places argument = [] {
    Places out;
    add(out, "", {"/name"});
    return out;
  }();
  constexpr std::string_view kProtocol = "io.modelcontextprotocol/";
  if (param.substr(0, kProtocol.size()) == kProtocol ||
      std::find(kNames.begin(), kNames.end(), param) != kNames.end())
    return {true, nullptr};
  if (param == "inputResponses") return {false, &answers};
  if (param == "clientInfo") return {false, &self};
  if (param == "argument") return {false, &argument};  // of a completion: the name of the completed argument
  return {};
}

}  // namespace lineward::plugins
