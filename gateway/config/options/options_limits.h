// Rows of the option table for overload and for the care of processes.
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_listen_limits(std::vector<Option>& rows);
void add_server_limits(std::vector<Option>& rows);

}  // namespace lineward::config
