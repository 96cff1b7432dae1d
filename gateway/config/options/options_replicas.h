// Option rows for replicas (docs/replicas.md).
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_replica_rows(std::vector<Option>& rows);

}  // namespace lineward::config
