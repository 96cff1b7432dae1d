// Files that a configuration names may lie on a network file system that stands still, and the kernel waits
// for that without end. A serving process therefore accesses such a file on a separate thread, and the caller
// waits no longer than a limit. A late thread stays behind until the file system answers; until then no
// caller waits for that file again.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace lineward {

// How long a caller waits: less while some other file keeps a thread waiting, so that many files of one file
// system do not add up.
inline constexpr std::chrono::milliseconds kFileLimit{2000}, kNextFileLimit{100};

// From here on, in this process; before that, work is done at once where it is called. Not before the last
// fork.
void limit_file_waits();
void limit_file_waits(std::chrono::milliseconds first, std::chrono::milliseconds next);

// True: `work` is done. False: it is late, or another one for this path is; what it refers to must live as
// long as `work` itself. It leaves errno as it was left by it.
bool within_file_limit(const std::string& path, std::function<void()> work);
// The error text for such a file.
std::string file_is_late();

}  // namespace lineward
