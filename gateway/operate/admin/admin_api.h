// The admin API: HTTP/1.1 with JSON and server-sent events (docs/admin-api.md). operate/admin/api_routes.h
// has the table of requests, operate/admin/api_access.h checks access, operate/admin/api_lists.h builds the
// lists.
//
// On the first worker's thread, for all its listeners (operate/admin/admin_server.h).
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>

#include "operate/admin/api_access.h"
#include "operate/admin/api_routes.h"
#include "operate/admin/control_json.h"
#include "operate/admin/event_stream_endpoint.h"
#include "operate/admin/plain_http.h"
#include "operate/admin/sources.h"
#include "operate/admin/tree_memory.h"

namespace lineward::admin {

class AdminApi {
 public:
  AdminApi(const Sources& sources, std::function<OwnUrls()> urls);
  ~AdminApi();
  AdminApi(const AdminApi&) = delete;
  AdminApi& operator=(const AdminApi&) = delete;

  void handle(const PlainRequest& request, const Access& access, OpsHttpServer::Answer answer);

 private:
  struct Wait;
  // A request to one route.
  struct Asked {
    const PlainRequest& http;
    const ApiRoute& route;
    std::string argument;
    std::string who;
  };
  using Json = nlohmann::json;

  PlainResponse look(const Asked& asked);
  PlainResponse look_at_status();
  PlainResponse look_at_calls(const Asked& asked, size_t limit);
  PlainResponse look_at_call(const Asked& asked);
  PlainResponse look_at_log(const Asked& asked, size_t limit);
  PlainResponse act_on_server(const Asked& asked, const Json& body);
  ServerActed act_on_origin(const std::string& server, const std::string& origin, ServerAct act);
  PlainResponse reload(const Asked& asked, const Json& body);
  void cancel(const Asked& asked, const Json& body, OpsHttpServer::Answer answer);
  PlainResponse unknown_call(const std::string& id);
  void when_settled(const std::string& id, OpsHttpServer::Answer answer);
  PlainResponse reply(int status, Json body);
  PlainResponse page(std::optional<Json> body, const char* none = nullptr);

  const Sources& sources_;
  std::function<OwnUrls()> urls_;
  std::shared_ptr<EventStreamEndpoint> events_;
  std::set<std::shared_ptr<Wait>> waits_;
  TreeMemory memory_{resident_of_tree};
};

}  // namespace lineward::admin
