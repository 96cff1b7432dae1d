// Paged lists of the admin API (docs/admin-api.md). Each function reads all workers, in turn or while they
// are paused, and builds only its page. nullopt if a worker does not answer.
//
// Texts of clients and servers are sanitized; secrets of the configuration never appear
// (operate/admin/redact_json.h removes them).
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "operate/admin/event_ring.h"
#include "operate/admin/sources.h"
#include "operate/admin/tree_memory.h"
#include "proxy/exchange/call_views.h"

namespace lineward::admin {

inline constexpr size_t kMaxPage = 1000;

struct PageQuery {
  size_t limit = kMaxPage;
  std::string after;
  std::string upstream;
};

std::optional<nlohmann::json> calls_page(const Sources& sources, const exchange::CallQuery& query,
                                         bool ended);
std::optional<nlohmann::json> listens_page(const Sources& sources, exchange::CallQuery query);
// A call in flight or ended, with its timeline; null if there is none.
std::optional<nlohmann::json> call_story(const Sources& sources, const std::string& id);
std::optional<nlohmann::json> ended_call(const Sources& sources, const std::string& id);
// Null if `after` is neither a remembered call nor a time.
std::optional<nlohmann::json> ends_page(const Sources& sources, const PageQuery& query,
                                        const std::string& reason);
std::optional<nlohmann::json> end_counts(const Sources& sources);
// Null if `after` is none of the servers.
std::optional<nlohmann::json> servers_page(const Sources& sources, const EventRing& feed,
                                           const PageQuery& query);
// Null if there is no such server.
std::optional<nlohmann::json> one_server(const Sources& sources, const EventRing& feed,
                                         const std::string& name);
std::optional<nlohmann::json> sessions_page(const Sources& sources, TreeMemory& memory,
                                            const PageQuery& query);
// Adds the memory of processes to the gateway's status.
void add_memory(nlohmann::json& status, TreeMemory& memory, std::chrono::milliseconds now);
std::optional<nlohmann::json> operations_page(const Sources& sources, const PageQuery& query);
nlohmann::json log_page(const EventRing& feed, const EventRing::LogQuery& query);

// The worker that assigned this call id (exchange::LiveExchanges::number_calls).
size_t worker_of_call(const Sources& sources, const std::string& id);

}  // namespace lineward::admin
