#include "config/options/options_aggregate.h"

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
                                     "Several servers are also served together, as one."));
  rows.push_back(row<k, &A::path>("aggregate.path", Kind::text, "", {},
                                  "The path where they are together; empty: listen.path.",
                                  check_optional_path));
  rows.push_back(row<k, &A::prefix>("aggregate.prefix", Kind::text, "{server}__", {},
                                    "The text before the names of a server's tools and prompts.",
                                    check_prefix));
  rows.push_back(choice<k, &A::prefix_mode>(
      "aggregate.prefixMode", "always|onConflict|never", "always",
      "onConflict: only where an earlier server has the name; never: the later one is left out."));
  rows.push_back(row<k, &A::part_timeout>(
      "aggregate.partTimeout", Kind::duration, "10s", {10, 3'600'000},
      "How long one server may hold up the others' parts of a merged list; then its part is missing."));
  rows.push_back(row<k, &A::max_items>("aggregate.maxItems", Kind::count, "10000", {1, 1'000'000},
                                       "Items of one server on one page of a merged list."));
  rows.push_back(row<k, &A::max_part_bytes>(
      "aggregate.maxPartBytes", Kind::size, "8MiB", {1024, 1ull << 30},
      "The size of one server's part of a merged list; a longer part is missing."));
}

void add_part_rows(std::vector<Option>& rows) {
  rows.push_back(choice<&Server::cache_scope>(
      "mcpServers.*.cacheScope", "private|public", "private",
      "public: what it lists is the same for every client; merged lists say so when all servers' are."));
}

}  // namespace lineward::config
