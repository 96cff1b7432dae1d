// Option rows for the audit log (docs/audit.md).
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

void add_audit_rows(std::vector<Option>& rows);

}  // namespace lineward::config
