#include "operate/admin/api_routes.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "operate/admin/api_schemas.h"
#include "operate/admin/openapi.h"
#include "operate/admin/request_body.h"

using namespace lineward::admin;
using nlohmann::json;

namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(LINEWARD_SOURCE_DIR) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every "$ref" in it.
void references(const json& value, std::set<std::string>& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (key == "$ref") out.insert(member.get<std::string>());
      references(member, out);
    }
  } else if (value.is_array()) {
    for (const json& one : value)
      references(one, out);
  }
}

}  // namespace

TEST_CASE("every call of the API stands in the table once") {
  std::set<ApiCall> calls;
  std::set<std::string_view> names;
  for (const ApiRoute& route : api_routes()) {
    CHECK(calls.insert(route.call).second);
    CHECK(names.insert(route.name).second);
    CHECK((route.method == "GET" || route.method == "POST"));
    // A route that changes state is a POST, takes JSON and requires the role; a reading one does not.
    CHECK((route.method == "POST") == (route.role == Role::operate));
    CHECK((route.method == "POST") == !route.body.empty());
  }
  CHECK(calls.size() == static_cast<size_t>(ApiCall::count_));
}

TEST_CASE("what the body of a POST may say is what its schema says") {
  const json schemas = json::parse(api_schemas());
  for (const ApiRoute& route : api_routes()) {
    if (route.body.empty()) continue;
    const json& schema = schemas.at(std::string(route.body));
    CHECK(schema.at("additionalProperties") == false);
    json right = json::object();
    for (const auto& [name, member] : schema.at("properties").items()) {
      const bool is_flag = member.at("type") == "boolean";
      CHECK((is_flag || member.at("type") == "string"));
      right[name] = is_flag ? json(true) : json("a");
      for (const json& wrong : {json(nullptr), json(1), json::array(), is_flag ? json("true") : json(true)})
        CHECK(body_fault(route, json{{name, wrong}}) ==
              name + (is_flag ? " in the body is true or false" : " in the body is a text"));
    }
    CHECK(body_fault(route, right).empty());
    CHECK(body_fault(route, json::object()).empty());
    CHECK(body_fault(route, json{{std::string(5000, 'x'), true}}).size() < 300);
  }
}

TEST_CASE("a path leads to its route, with what stands in place of the braces") {
  auto found = [](std::string_view method, std::string_view path) { return find_route(method, path); };
  REQUIRE(found("GET", "/api/v1/calls").route != nullptr);
  CHECK(found("GET", "/api/v1/calls").route->call == ApiCall::calls);
  CHECK(found("GET", "/api/v1/calls/c9f2").argument == "c9f2");
  CHECK(found("POST", "/api/v1/calls/c9f2/cancel").route->call == ApiCall::call_cancel);
  CHECK(found("POST", "/api/v1/calls/c9f2/cancel").argument == "c9f2");
  CHECK(found("GET", "/api/v1/servers/%2Fmcp").argument == "/mcp");
  CHECK(found("GET", "/api/v1/ends/minutes").route->call == ApiCall::end_counts);
}

TEST_CASE("another method is told what the path takes, another path nothing") {
  CHECK(find_route("POST", "/api/v1/calls").allow == "GET");
  CHECK(find_route("GET", "/api/v1/calls/c1/cancel").allow == "POST");
  CHECK(find_route("DELETE", "/api/v1/servers/a/stop").allow == "POST");
  for (const char* path :
       {"/", "/api/v1", "/api/v1/", "/api/v1/call", "/api/v1/calls/", "/api/v1/calls//cancel",
        "/api/v1/calls/a/b/cancel", "/api/v2/calls", "/api/v1/servers/a%2", "/api/v1/servers/a%zz",
        "/api/v1/servers/a%00", "/api/v1/calls/c1/"}) {
    INFO(path);
    CHECK(find_route("GET", path).route == nullptr);
    CHECK(find_route("GET", path).allow.empty());
  }
}

TEST_CASE("the document has every route, and refers to nothing that is not there") {
  const json document = openapi_document("0");
  for (const ApiRoute& route : api_routes()) {
    INFO(route.path);
    const json& path = document.at("paths").at(std::string(route.path));
    const json& operation = path.at(route.method == "GET" ? "get" : "post");
    CHECK(operation.at("operationId") == route.name);
    CHECK(operation.at("responses").contains("403"));
  }
  std::set<std::string> used;
  references(document, used);
  const std::string below = "#/components/schemas/";
  for (const std::string& one : used) {
    INFO(one);
    REQUIRE(one.rfind(below, 0) == 0);
    CHECK(document.at("components").at("schemas").contains(one.substr(below.size())));
  }
}

TEST_CASE("docs/admin-api.json is what the table says") {
  CHECK(file("docs/admin-api.json") == openapi_text("0.1.0"));  // lineward openapi > docs/admin-api.json
}

TEST_CASE("docs/admin-api.md lists the routes") {
  // Between these marks stands what route_list() gives.
  const std::string page = file("docs/admin-api.md");
  const std::string begin = "<!-- routes -->\n", end = "<!-- end of routes -->";
  size_t from = page.find(begin), to = page.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(page.substr(from + begin.size(), to - from - begin.size()) == route_list());
}
