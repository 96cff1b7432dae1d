// Checks across options of the audit log.
#pragma once

#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Resolves its paths against the configuration's directory, and reports errors.
void check_audit(const Node& root, const LoadOptions& options, LoadResult& result);

}  // namespace lineward::config
