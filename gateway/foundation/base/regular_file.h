// Opens and reads configured files without blocking. A pipe, terminal or socket is refused: it could block
// its reader for ever.
#pragma once

#include <cstddef>
#include <string>

#include "foundation/base/result.h"

namespace lineward {

// A descriptor of a regular file (or /dev/null), for reading. The error is the reason alone; errno has it
// too, and is 0 if the file is of another kind.
Result<int> open_regular_file(const std::string& path);
// The whole file. In a process that serves, within the time that foundation/base/file_limit.h says; so is
// check_regular_file(). The error's code is ETIMEDOUT if the file system did not answer.
Result<std::string> read_regular_file(const std::string& path, size_t most);
// Checks a file that other code reads (a library, by its name): a regular file of at most `most` bytes.
Status<> check_regular_file(const std::string& path, size_t most);

}  // namespace lineward
