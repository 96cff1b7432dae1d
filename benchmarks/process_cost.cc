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

// Calls visit(number) for each numeric entry of a folder under /proc.
template <class F>
void for_each_number(const std::string& path, F&& visit) {
  DIR* folder = opendir(path.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    long number = std::atol(entry->d_name);
    if (number > 0) visit(static_cast<pid_t>(number));
  }
  closedir(folder);
}

// The run time of the threads, to the nanosecond; 0 if the kernel does not report it.
double exact_cpu(pid_t pid) {
  double seconds = 0;
  std::string tasks = fmt::format("/proc/{}/task", pid);
  for_each_number(tasks, [&](pid_t thread) {
    seconds +=
        static_cast<double>(std::atoll(slurp(fmt::format("{}/{}/schedstat", tasks, thread)).c_str())) / 1e9;
  });
  return seconds;
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
  for_each_number("/proc", [&](pid_t pid) {
    Process process;
    if (read_stat(pid, process)) out.emplace(pid, process);
  });
  return out;
}

// The memory of one process; shared pages count in parts (Pss) or in full (Rss).
void add_memory(pid_t pid, Cost& cost) {
  std::istringstream lines(slurp(fmt::format("/proc/{}/smaps_rollup", pid)));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Rss:", 0) == 0) cost.front_rss_kib += std::atoll(line.c_str() + 4);
    if (line.rfind("Pss:", 0) == 0) cost.front_pss_kib += std::atoll(line.c_str() + 4);
  }
}

std::string command_line(pid_t pid) {
  return slurp(fmt::format("/proc/{}/cmdline", pid));
}

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
    double exact = exact_cpu(pid);
    double cpu = exact > 0 ? exact : found->second.cpu;
    if (front) {
      cost.front_cpu += cpu;
      add_memory(pid, cost);
      ++cost.front_processes;
    } else {
      cost.server_cpu += cpu;
      ++cost.server_processes;
    }
    for (const auto& [child, process] : processes) {
      if (process.parent == pid) queue.emplace_back(child, front);
    }
  }
  return cost;
}

}  // namespace bench
