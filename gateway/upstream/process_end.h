// How the end of a process, or a start that came to nothing, is put into words.
#pragma once

#include <string>

#include "config/config.h"
#include "net/child_process.h"
#include "upstream/stdio_process.h"

namespace lineward::upstream {

// Why a command could not be started: the errno by its name, and what to do about it. What a client need not
// know (PATH, directories) is in `detail`.
ProcessEnd describe_failure(const net::SpawnFailure& failure, const config::Server& server);

// What a client is told of a process that ended before it had answered anything: `end.text` and, unless the
// server is configured otherwise, its last line on stderr without the values of its `env`.
std::string start_failure_text(const ProcessEnd& end, const config::Server& server);

}  // namespace lineward::upstream
