// `tools.overrides.TOOL: {name, title, description}`: how a tool is shown to clients (docs/views.md).
#pragma once

#include <vector>

#include "config/config.h"
#include "config/reader/document.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

// Is `word` one of these words? Then it is read into `out`.
bool read_shown_word(ValueReader& values, const Member& tool, const Member& word, ShownTool& out);
// Takes all shown tools of a server over, in the order of their names. Two tools with one name are an error.
void finish_shown_tools(ValueReader& values, const Member& overrides, std::vector<ShownTool> shown,
                        Server& server);

}  // namespace lineward::config
