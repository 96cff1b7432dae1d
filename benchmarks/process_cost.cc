#include "process_cost.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace bench {
namespace {

struct Process {
  pid_t parent = 0;
  double cpu = 0;
};

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Fields 4 (parent), 14 and 15 (user and system ticks) of /proc/PID/stat.
bool read_stat(pid_t pid, Process& out) {
  std::string text = slurp(fmt::format("/proc/{}/stat", pid));
  size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return false;
  std::istringstream fields(text.substr(after_name + 1));
  std::string field;
  int64_t ticks = 0;
  for (int n = 3; n <= 15 && fields >> field; ++n) {
    if (n == 4) out.parent = static_cast<pid_t>(std::atol(field.c_str()));
    if (n == 14 || n == 15) ticks += std::atoll(field.c_str());
  }
  out.cpu = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return true;
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> out;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    pid_t pid = static_cast<pid_t>(std::atol(entry->d_name));
    Process process;
    if (pid > 0 && read_stat(pid, process)) out.emplace(pid, process);
  }
  closedir(folder);
  return out;
}

// Of one process; pages that several share count in parts (Pss) or in each (Rss).
void add_memory(pid_t pid, Cost& cost) {
  std::istringstream lines(slurp(fmt::format("/proc/{}/smaps_rollup", pid)));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Rss:", 0) == 0) cost.front_rss_kib += std::atoll(line.c_str() + 4);
    if (line.rfind("Pss:", 0) == 0) cost.front_pss_kib += std::atoll(line.c_str() + 4);
  }
}

std::string command_line(pid_t pid) { return slurp(fmt::format("/proc/{}/cmdline", pid)); }

}  // namespace

Cost cost_of(pid_t root, std::string_view marker) {
  Cost cost;
  auto processes = all_processes();
  std::string own = command_line(root);
  // A child of a server is a server; hence from the root downwards.
  std::vector<std::pair<pid_t, bool>> queue{{root, true}};
  for (size_t i = 0; i < queue.size(); ++i) {
    auto [pid, front] = queue[i];
    auto found = processes.find(pid);
    if (found == processes.end()) continue;
    if (pid != root && front) {
      std::string line = command_line(pid);
      front = line == own || line.find(marker) == std::string::npos;
    }
    if (front) {
      cost.front_cpu += found->second.cpu;
      add_memory(pid, cost);
      ++cost.front_processes;
    } else {
      cost.server_cpu += found->second.cpu;
      ++cost.server_processes;
    }
    for (const auto& [child, process] : processes) {
      if (process.parent == pid) queue.emplace_back(child, front);
    }
  }
  return cost;
}

}  // namespace bench
