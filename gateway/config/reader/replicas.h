// Checks across options of replicas. Reads the key file.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "config/reader/load.h"
#include "foundation/base/result.h"
#include "foundation/base/seal_keys.h"

namespace lineward::config {

struct Node;

// Resolves keyFile against the configuration's directory, and reports errors.
void check_replicas(const Node& root, const LoadOptions& options, LoadResult& result);

// Reads the keys again. An error names the file, never a key.
Result<std::shared_ptr<const SealKeys>> read_replica_keys(const std::string& path);

}  // namespace lineward::config
