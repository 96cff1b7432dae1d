// The file in which answers of a stdio server are kept for the next life of Lineward (docs/quick-starts.md):
// its place, and how it is read and written. Everything in the directory is treated as hostile: links are not
// followed, and files of other users, with other rights, or of another size are not read. Keeps no state.
#pragma once

#include <cstddef>
#include <string>

#include "config/config.h"
#include "foundation/base/result.h"

namespace lineward::upstream {

struct MemoryPlace {
  std::string directory;  // empty: this user has no directory for state
  std::string name;
  // SHA-256, in hexadecimal, of all that the server is started from: command, arguments, working directory,
  // variables, the program's size and time, and the version of Lineward. Values of variables may be secrets:
  // nothing but this digest is stored.
  std::string fingerprint;
};

// `environment`: Lineward's own, like the global `environ`; it lives as long as the process. The directory is
// empty too if a file system does not answer in time.
MemoryPlace memory_place(const config::Server& server, const char* const* environment);

// Whether there is a file, for operators.
bool has_memory(const MemoryPlace& place);
// The file's text. An error without a text: there is no file. Removes what interrupted writes have left in
// the directory.
Result<std::string> read_memory(const MemoryPlace& place, size_t most);
// Replaces the file in one step. Creates the directory, with mode 0700.
Status<> write_memory(const MemoryPlace& place, const std::string& text);

}  // namespace lineward::upstream
