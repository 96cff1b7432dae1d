// The one way to a file that somebody named: never waited for. What has a writer at its other end (a pipe, a
// terminal, a socket) would hold up whoever reads it, for ever perhaps.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace lineward {

// A descriptor of a regular file (or /dev/null), for reading. The error is the reason alone; errno has it
// too, 0 where the file is of another kind.
Result<int> open_regular_file(const std::string& path);
// The whole file. In a process that serves, within the time that base/file_limit.h says; so is
// check_regular_file().
Result<std::string> read_regular_file(const std::string& path, size_t most);
// May others read it (a library, by its name)? A regular file of at most so many bytes.
Status<> check_regular_file(const std::string& path, size_t most);

}  // namespace lineward
