// Option rows for overload and process limits.
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_listen_limits(std::vector<Option>& rows);
void add_server_limits(std::vector<Option>& rows);

}  // namespace lineward::config
