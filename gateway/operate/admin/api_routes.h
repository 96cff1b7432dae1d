// The admin API as a table (docs/admin-api.md): routes, roles, parameters and schemas. It drives dispatch and
// access checks. The OpenAPI document and the list in the docs are generated from it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::admin {

// read: read-only. operate: may change something, and read.
enum class Role : uint8_t { read, operate };

enum class ApiCall : uint8_t {
  openapi,
  status,
  servers,
  server,
  server_start,
  server_stop,
  server_restart,
  server_drain,
  calls,
  call,
  call_cancel,
  listens,
  sessions,
  ends,
  end_counts,
  operations,
  log,
  events,
  reload,
  count_
};

struct ApiParameter {
  std::string_view name;
  std::string_view schema;  // JSON text
  std::string_view about;
};

struct ApiRoute {
  ApiCall call;
  std::string_view method;  // GET or POST
  std::string_view path;    // "/api/v1/calls/{id}": at most one segment in braces
  Role role;
  std::string_view name;   // operationId
  std::string_view about;  // one sentence
  std::vector<ApiParameter> query = {};
  std::string_view body = {};      // schema of the request (operate/admin/api_schemas.h); empty: no body
  std::string_view answer = {};    // schema of the response; empty: an event stream
  std::vector<int> refusals = {};  // statuses besides those of every route
};

const std::vector<ApiRoute>& api_routes();

struct ApiMatch {
  const ApiRoute* route = nullptr;  // null: no such path, or `allow` has the allowed methods
  std::string argument = {};        // the decoded text in place of the braces
  std::string allow = {};
};
ApiMatch find_route(std::string_view method, std::string_view path);

// The name in the braces of its path; empty: it has none.
std::string_view argument_name(const ApiRoute& route);

// The list of routes in Markdown, for docs/admin-api.md.
std::string route_list();

}  // namespace lineward::admin
