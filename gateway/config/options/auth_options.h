// Options of `auth:` besides its authenticating plugins, and of its `resourceMetadata:`.
#pragma once

#include <vector>

#include "config/options/plugin_spec.h"

namespace lineward::config {

const std::vector<Option>& auth_options();
const std::vector<Option>& metadata_options();

}  // namespace lineward::config
