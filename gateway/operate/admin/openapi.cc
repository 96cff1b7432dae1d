#include "operate/admin/openapi.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "operate/admin/api_routes.h"
#include "operate/admin/api_schemas.h"
#include "operate/admin/control_json.h"
#include "protocol/http/writer.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

json reference(std::string_view schema) {
  return {{"$ref", fmt::format("#/components/schemas/{}", schema)}};
}

json answer_of(std::string_view about, std::string_view schema) {
  return {{"description", about}, {"content", {{"application/json", {{"schema", reference(schema)}}}}}};
}

json responses_of(const ApiRoute& route) {
  json out = json::object();
  if (route.answer.empty()) {
    out["200"] = {
        {"description",
         "Events: hello, lost, call.*, listen.*, server.*, session.*, gateway.*, log; the data of each "
         "is a JSON object."},
        {"content", {{"text/event-stream", {{"schema", {{"type", "string"}}}}}}}};
  } else {
    out["200"] = answer_of("OK", route.answer);
  }
  std::set<int> refusals(route.refusals.begin(), route.refusals.end());
  refusals.insert({401, 403, 503});
  if (!route.query.empty() || !route.body.empty()) refusals.insert(400);
  if (!route.body.empty()) refusals.insert(415);
  for (int status : refusals) {
    // A refused reload has the same form with its reason.
    const bool same = route.call == ApiCall::reload && (status == 409 || status == 422);
    out[std::to_string(status)] =
        answer_of(http::reason_phrase(status), same ? route.answer : std::string_view("Error"));
  }
  return out;
}

json operation_of(const ApiRoute& route) {
  json out{{"operationId", route.name},
           {"summary", route.about},
           {"x-role", route.role == Role::read ? "read" : "operate"},
           {"responses", responses_of(route)}};
  json parameters = json::array();
  if (std::string_view name = argument_name(route); !name.empty()) {
    parameters.push_back(
        {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const ApiParameter& one : route.query) {
    parameters.push_back({{"name", one.name},
                          {"in", "query"},
                          {"required", false},
                          {"description", one.about},
                          {"schema", json::parse(one.schema)}});
  }
  if (route.call == ApiCall::events)
    parameters.push_back(
        {{"name", "Last-Event-ID"}, {"in", "header"}, {"required", false}, {"schema", {{"type", "string"}}}});
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (!route.body.empty()) {
    out["requestBody"] = {{"required", false},
                          {"content", {{"application/json", {{"schema", reference(route.body)}}}}}};
  }
  return out;
}

}  // namespace

json openapi_document(const std::string& version) {
  json paths = json::object(), schemas = json::parse(api_schemas());
  add_record_schemas(schemas);
  for (const ApiRoute& route : api_routes())
    paths[std::string(route.path)][route.method == "GET" ? "get" : "post"] = operation_of(route);
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Lineward admin API"},
            {"version", version},
            {"description",
             "Reads and controls a running Lineward. Served on its control socket, and on TCP where "
             "admin.address is set. POST takes Content-Type: application/json."}}},
          {"servers", {{{"url", "/"}}}},
          {"security", {{{"token", json::array()}}, json::object()}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)},
            {"securitySchemes",
             {{"token",
               {{"type", "http"},
                {"scheme", "bearer"},
                {"description",
                 "A token of admin.tokenFile. On the control socket, and on TCP of this machine without that "
                 "file, none is needed."}}}}}}}};
}

std::string openapi_text(const std::string& version) {
  return openapi_document(version).dump(2) + "\n";
}

}  // namespace lineward::admin
