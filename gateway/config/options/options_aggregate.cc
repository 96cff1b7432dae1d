#include "config/options/option_groups.h"

#include "config/aggregate.h"
#include "config/options/option_row.h"

namespace lineward::config {
namespace {

using rows::choice;
using rows::row;

std::string_view check_optional_path(const Value& value) {
  return value.text.empty() ? std::string_view() : rows::path_fault(value);
}

std::string_view check_prefix(const Value& value) {
  return prefix_fault(value.text);
}

}  // namespace

void add_aggregate_rows(std::vector<Option>& rows) {
  using A = Aggregate;
  constexpr auto k = &Config::aggregate;
  rows.push_back(row<k, &A::enabled>("aggregate.enabled", Kind::flag, "true", {},
                                     "If there are several servers, they are also served together, as one."));
  rows.push_back(row<k, &A::path>("aggregate.path", Kind::text, "", {},
                                  "The path at which they are served together. Empty: listen.path.",
                                  check_optional_path));
  rows.push_back(row<k, &A::prefix>("aggregate.prefix", Kind::text, "{server}__", {},
                                    "The text before the names of a server's tools and prompts.",
                                    check_prefix));
  rows.push_back(
      choice<k, &A::prefix_mode>("aggregate.prefixMode", "always|onConflict|never", "always",
                                 "onConflict: a prefix only for a name that an earlier server has too. "
                                 "never: no prefixes; of two equal names the later one is left out."));
  rows.push_back(row<k, &A::part_timeout>(
      "aggregate.partTimeout", Kind::duration, "10s", {10, 3'600'000},
      "How long a merged list waits for one server; after that the list lacks the part of that server."));
  rows.push_back(row<k, &A::max_items>("aggregate.maxItems", Kind::count, "10000", {1, 1'000'000},
                                       "Items of one server on one page of a merged list."));
  rows.push_back(row<k, &A::max_part_bytes>(
      "aggregate.maxPartBytes", Kind::size, "8MiB", {1024, 1ull << 30},
      "The size of one server's part of a merged list; a longer part is missing."));
  rows.push_back(choice<k, &A::workers>("aggregate.workers", "all|one", "all",
                                        "one: the first worker alone serves all servers as one "
                                        "(docs/workers.md)."));
}

void add_part_rows(std::vector<Option>& rows) {
  rows.push_back(
      choice<&Server::cache_scope>("mcpServers.*.cacheScope", "private|public", "private",
                                   "public: the server's lists are the same for every client. A merged list "
                                   "is marked as public if those of all servers are."));
}

}  // namespace lineward::config
