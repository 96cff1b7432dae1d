#include "operate/admin/process_info.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "foundation/process/process_tree.h"

namespace lineward::admin {
namespace {

constexpr size_t kMaxProcesses = 64;

std::string read_small(const std::string& path) {
  std::array<char, 4096> bytes;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  ssize_t n = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  return n > 0 ? std::string(bytes.data(), static_cast<size_t>(n)) : std::string();
}

double count_entries(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return 0;
  double count = 0;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(directory);
  return count;
}

}  // namespace

bool read_process(pid_t pid, ProcessInfo& out) {
  std::string base = "/proc/" + std::to_string(pid);
  std::string stat = read_small(base + "/stat");
  // proc(5): the name in parentheses may contain anything; field 3 follows the last ')'.
  size_t at = stat.rfind(')');
  if (at == std::string::npos) return false;
  std::vector<double> fields;
  const char* text = stat.c_str() + std::min(at + 2, stat.size());
  while (*text != '\0' && fields.size() < 22) {
    char* end = nullptr;
    double value = std::strtod(text, &end);
    if (end == text) {  // the state, a letter
      value = 0;
      end = const_cast<char*>(text) + 1;
    }
    fields.push_back(value);
    text = *end == ' ' ? end + 1 : end;
  }
  if (fields.size() < 22) return false;
  auto field = [&](size_t number) { return fields[number - 3]; };
  double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  // Includes reaped children, so that the sum over a tree does not fall when a child ends.
  out.cpu_seconds = (field(14) + field(15) + field(16) + field(17)) / ticks;
  out.virtual_bytes = field(23);
  out.resident_bytes = field(24) * static_cast<double>(sysconf(_SC_PAGESIZE));
  out.open_fds = count_entries(base + "/fd");
  return true;
}

bool read_tree(pid_t root, ProcessInfo& out) {
  if (!read_process(root, out)) return false;
  std::vector<pid_t> todo{root};
  for (size_t at = 0; at < todo.size(); ++at) {
    auto children = process::spawning::children_of(todo[at]);
    if (!children) continue;
    for (pid_t child : *children) {
      ProcessInfo info;
      if (todo.size() >= kMaxProcesses || !read_process(child, info)) continue;
      todo.push_back(child);
      out.cpu_seconds += info.cpu_seconds;
      out.resident_bytes += info.resident_bytes;
      out.virtual_bytes += info.virtual_bytes;
      out.open_fds += info.open_fds;
    }
  }
  return true;
}

}  // namespace lineward::admin
