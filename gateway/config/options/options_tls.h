// Rows of the option table for `listen.tls`.
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_tls_rows(std::vector<Option>& rows);

}  // namespace lineward::config
