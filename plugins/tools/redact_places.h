// The positions of names in messages: tools, URIs, tasks, states, versions. A name changed by a pattern would
// be unknown to its recipient, so patterns skip these positions (docs/plugins.md).
#pragma once

#include <string_view>
#include <vector>

#include "plugins/tools/redact_rules.h"
#include "protocol/mcp/methods.h"

namespace lineward::plugins {

// In the result of a request of this method.
const std::vector<Place>& names_in_result(mcp::Method method);
// In the params of a server's notification or request.
const std::vector<Place>& names_in_params(mcp::Method method);
// In a server's error.
const std::vector<Place>& names_in_error();
// In a client's answer to a question.
const std::vector<Place>& names_in_answer();
// In one member of a client's params; `all`: the whole member is a name.
struct NamesInParam {
  bool all = false;
  const std::vector<Place>* places = nullptr;
};
NamesInParam names_in_param(std::string_view param);

}  // namespace lineward::plugins
