// The rows of the option table that are about many servers as one (docs/many-servers.md).
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_aggregate_rows(std::vector<Option>& rows);
// What one server's part in it is.
void add_part_rows(std::vector<Option>& rows);

}  // namespace lineward::config
