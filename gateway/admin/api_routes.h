// The admin API as a table (docs/admin-api.md): what there is, who may ask for it, what it takes and gives.
// Requests are led by it, roles are taken from it, and the OpenAPI document and the list in the docs are
// printed from it; what is not here does not exist. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::admin {

// read: looks. operate: changes something, and looks.
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
  std::string_view body = {};      // the schema of what it takes (admin/api_schemas.h); empty: nothing
  std::string_view answer = {};    // and of what it gives; empty: an event stream
  std::vector<int> refusals = {};  // statuses besides those that every route may give
};

const std::vector<ApiRoute>& api_routes();

struct ApiMatch {
  const ApiRoute* route = nullptr;  // null: there is no such path, or `allow` says what it takes
  std::string argument = {};        // what stands in place of the braces, decoded
  std::string allow = {};
};
ApiMatch find_route(std::string_view method, std::string_view path);

// The name in the braces of its path; empty: it has none.
std::string_view argument_name(const ApiRoute& route);

// The list of routes for people, in Markdown: docs/admin-api.md has it.
std::string route_list();

}  // namespace lineward::admin
