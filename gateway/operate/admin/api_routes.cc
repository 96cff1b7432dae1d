#include "operate/admin/api_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "protocol/http/char_class.h"
#include "protocol/http/percent.h"

namespace lineward::admin {
namespace {

constexpr ApiParameter kLimit{"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":1000})",
                              "At most so many on this page."};
constexpr ApiParameter kUpstream{"upstream", R"({"type":"string"})",
                                 "Only of this server, or of this path of several."};
constexpr std::string_view kText = R"({"type":"string"})";

ApiParameter after(std::string_view about) {
  return {"after", kText, about};
}

// nullopt if it cannot be a name.
std::optional<std::string> name_in(std::string_view segment) {
  auto name = http::percent_decoded(segment);
  return name && std::none_of(name->begin(), name->end(), http::is_control) ? name : std::nullopt;
}

// The text in place of the braces; nullopt for another path.
std::optional<std::string> argument_of(std::string_view pattern, std::string_view path) {
  size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == path ? std::optional(std::string()) : std::nullopt;
  std::string_view tail = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= open + tail.size() || path.substr(0, open) != pattern.substr(0, open) ||
      path.substr(path.size() - tail.size()) != tail)
    return std::nullopt;
  std::string_view segment = path.substr(open, path.size() - open - tail.size());
  if (segment.find('/') != std::string_view::npos) return std::nullopt;
  return name_in(segment);
}

std::vector<ApiRoute> make_routes() {
  using C = ApiCall;
  return {
      {C::openapi,
       "GET",
       "/api/v1/openapi.json",
       Role::read,
       "getOpenApi",
       "This API as an OpenAPI 3.1 document.",
       {},
       {},
       "OpenApi",
       {}},
      {C::status,
       "GET",
       "/api/v1/status",
       Role::read,
       "getStatus",
       "The gateway and its servers, in short.",
       {},
       {},
       "Status",
       {}},
      {C::servers,
       "GET",
       "/api/v1/servers",
       Role::read,
       "listServers",
       "The servers: era, processes, queue, circuit breaker, last lines on stderr, what was counted.",
       {kLimit, after("Behind the server of this name, in the order of the configuration.")},
       {},
       "Servers",
       {}},
      {C::server,
       "GET",
       "/api/v1/servers/{name}",
       Role::read,
       "getServer",
       "A single server.",
       {},
       {},
       "Server",
       {404}},
      {C::server_start,
       "POST",
       "/api/v1/servers/{name}/start",
       Role::operate,
       "startServer",
       "Takes a server that was stopped or drained back into service.",
       {},
       "ServerAction",
       "ServerActed",
       {404, 409}},
      {C::server_stop,
       "POST",
       "/api/v1/servers/{name}/stop",
       Role::operate,
       "stopServer",
       "Takes a server out of service and cancels its calls.",
       {},
       "ServerAction",
       "ServerActed",
       {404, 409}},
      {C::server_restart,
       "POST",
       "/api/v1/servers/{name}/restart",
       Role::operate,
       "restartServer",
       "Puts a new form of a server in its place; the old one ends with its calls, or at once with `force`.",
       {},
       "ServerAction",
       "ServerActed",
       {404, 409}},
      {C::server_drain,
       "POST",
       "/api/v1/servers/{name}/drain",
       Role::operate,
       "drainServer",
       "Takes a server out of service; its calls go on to their end.",
       {},
       "ServerAction",
       "ServerActed",
       {404, 409}},
      {C::calls,
       "GET",
       "/api/v1/calls",
       Role::read,
       "listCalls",
       "The calls in flight, in the order of their arrival, with their clocks and progress.",
       {kLimit,
        after("Behind the call of this id."),
        kUpstream,
        {"method", kText, "Only of this method."},
        {"older", kText, "Only those that are older than this duration, as 30s."},
        {"all", R"({"type":"boolean"})",
         "On the first page also the last that ended, of those that are asked for."}},
       {},
       "Calls",
       {400}},
      {C::call,
       "GET",
       "/api/v1/calls/{id}",
       Role::read,
       "getCall",
       "A call in flight, or a recently ended one, with its time line.",
       {},
       {},
       "CallStory",
       {404}},
      {C::call_cancel,
       "POST",
       "/api/v1/calls/{id}/cancel",
       Role::operate,
       "cancelCall",
       "Cancels a call: its client gets error 499, its server is told.",
       {},
       "Cancel",
       "Cancelled",
       {404}},
      {C::listens,
       "GET",
       "/api/v1/listens",
       Role::read,
       "listListens",
       "The open subscriptions/listen streams: client, server, and the subjects of each.",
       {kLimit, after("Behind the listen of this id."), kUpstream},
       {},
       "Listens",
       {}},
      {C::sessions,
       "GET",
       "/api/v1/sessions",
       Role::read,
       "listSessions",
       "The legacy sessions of clients; their secret ids are not shown.",
       {kLimit, after("Behind the session of this id."), kUpstream},
       {},
       "Sessions",
       {}},
      {C::ends,
       "GET",
       "/api/v1/ends",
       Role::read,
       "listEnds",
       "The last calls that ended, the newest first: 256 of each worker.",
       {kLimit,
        after("Behind the call of this id."),
        kUpstream,
        {"reason", kText, "Only those that ended for this reason."}},
       {},
       "Ends",
       {}},
      {C::end_counts,
       "GET",
       "/api/v1/ends/minutes",
       Role::read,
       "countEnds",
       "How many calls ended for which reason, in each minute of the last hour.",
       {},
       {},
       "EndCounts",
       {}},
      {C::operations,
       "GET",
       "/api/v1/operations",
       Role::read,
       "listOperations",
       "Calls and how long they took, by server, method and tool, since the start; the busiest first.",
       {kLimit, kUpstream},
       {},
       "Operations",
       {}},
      {C::log,
       "GET",
       "/api/v1/log",
       Role::read,
       "listLog",
       "The last lines of the log, the oldest first.",
       {kLimit,
        after("Behind the line of this id."),
        kUpstream,
        {"level", R"({"enum":["info","warn","error"]})", "The least important level."}},
       {},
       "Log",
       {}},
      {C::events,
       "GET",
       "/api/v1/events",
       Role::read,
       "watchEvents",
       "Live events of all workers, as server-sent events. A reader resumes with Last-Event-ID; an event "
       "`lost` marks a gap.",
       {{"types", kText, "Only these: calls, servers, log; separated by commas. All by default."},
        after("As Last-Event-ID, where that header cannot be set.")},
       {},
       {},
       {503}},
      {C::reload,
       "POST",
       "/api/v1/reload",
       Role::operate,
       "reload",
       "Reads the configuration again. A bad file changes nothing.",
       {},
       "Reload",
       "Reloaded",
       {409, 422}},
  };
}

}  // namespace

const std::vector<ApiRoute>& api_routes() {
  static const std::vector<ApiRoute> the = make_routes();
  return the;
}

ApiMatch find_route(std::string_view method, std::string_view path) {
  ApiMatch out;
  for (const ApiRoute& route : api_routes()) {
    auto argument = argument_of(route.path, path);
    if (!argument) continue;
    if (route.method == method) return {&route, std::move(*argument), {}};
    if (out.allow.find(route.method) == std::string::npos)
      out.allow += (out.allow.empty() ? "" : ", ") + std::string(route.method);
  }
  return out;
}

std::string_view argument_name(const ApiRoute& route) {
  size_t open = route.path.find('{');
  if (open == std::string_view::npos) return {};
  return route.path.substr(open + 1, route.path.find('}') - open - 1);
}

std::string route_list() {
  std::string out = "| | path | role | |\n|---|---|---|---|\n";
  for (const ApiRoute& route : api_routes()) {
    std::string query;
    for (const ApiParameter& one : route.query)
      query += fmt::format("{}`{}`", query.empty() ? " (" : ", ", one.name);
    out += fmt::format("| {} | `{}` | {} | {}{} |\n", route.method, route.path,
                       route.role == Role::read ? "read" : "operate", route.about,
                       query.empty() ? query : query + ")");
  }
  return out;
}

}  // namespace lineward::admin
