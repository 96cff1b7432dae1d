// What a configuration says of the audit log, beyond single options.
#pragma once

#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Makes its paths absolute to the configuration's directory, and notes what is wrong.
void check_audit(const Node& root, const LoadOptions& options, LoadResult& result);

}  // namespace lineward::config
