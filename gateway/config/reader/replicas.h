// What a configuration says of replicas, beyond single options: what has to stand together, and the file of
// keys.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/seal_keys.h"
#include "config/config.h"
#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Makes keyFile absolute to the configuration's directory, and notes what is wrong.
void check_replicas(const Node& root, const LoadOptions& options, LoadResult& result);

// Reads the keys anew. An error names the file, and no key.
Result<std::shared_ptr<const SealKeys>> read_replica_keys(const std::string& path);

}  // namespace lineward::config
