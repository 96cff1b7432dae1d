// What the admin API shows, page by page (docs/admin-api.md). Each function looks at all workers, one after
// the other or while they stand still, and builds no more than its page. Nothing where a worker does not
// answer.
//
// Texts of clients and servers are made printable; nothing that the configuration holds as a secret appears
// (admin/known_secrets.h does the rest).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "admin/event_feed.h"
#include "admin/sources.h"
#include "exchange/call_views.h"

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
// One in flight or ended, with its time line; null where there is none.
std::optional<nlohmann::json> call_story(const Sources& sources, const std::string& id);
std::optional<nlohmann::json> ended_call(const Sources& sources, const std::string& id);
// Null where `after` names no call that is remembered, and no time.
std::optional<nlohmann::json> ends_page(const Sources& sources, const PageQuery& query,
                                        const std::string& reason);
std::optional<nlohmann::json> end_counts(const Sources& sources);
// Null where `after` names none of them.
std::optional<nlohmann::json> servers_page(const Sources& sources, const EventFeed& feed,
                                           const PageQuery& query);
// Null where there is no such server.
std::optional<nlohmann::json> one_server(const Sources& sources, const EventFeed& feed,
                                         const std::string& name);
std::optional<nlohmann::json> sessions_page(const Sources& sources, const PageQuery& query);
std::optional<nlohmann::json> operations_page(const Sources& sources, const PageQuery& query);
nlohmann::json log_page(const EventFeed& feed, const EventFeed::LogQuery& query);

// Which worker gave a call this name (exchange::LiveExchanges::number_calls).
size_t worker_of_call(const Sources& sources, const std::string& id);

}  // namespace lineward::admin
