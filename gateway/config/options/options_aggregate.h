// Option rows for the aggregate (docs/many-servers.md).
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_aggregate_rows(std::vector<Option>& rows);
// Options of one server within the aggregate.
void add_part_rows(std::vector<Option>& rows);

}  // namespace lineward::config
