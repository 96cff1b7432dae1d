#include "foundation/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <string>

#include "foundation/process/spawn_wire.h"

namespace lineward::process::spawning {

namespace {

using Family = std::map<pid_t, std::vector<pid_t>>;  // parent -> children

bool read_file(const std::string& path, std::string* out) {
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return false;
  out->clear();
  char block[4096];
  for (;;) {
    const ssize_t n = ::read(file.get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) return true;
    out->append(block, static_cast<size_t>(n));
  }
}

// The numeric entries of a directory of /proc.
bool numbers_in(const std::string& path, std::vector<pid_t>* out) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return false;
  while (const dirent* entry = ::readdir(directory)) {
    const auto number = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (number > 0) out->push_back(number);
  }
  ::closedir(directory);
  return true;
}

// Not every kernel is built with the "children" files.
bool has_children_files() {
  const std::string self = std::to_string(::getpid());
  return ::access(("/proc/" + self + "/task/" + self + "/children").c_str(), R_OK) == 0;
}

std::vector<pid_t> listed_children(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  std::vector<pid_t> threads;
  std::vector<pid_t> children;
  if (!numbers_in(tasks, &threads)) return children;
  for (const pid_t thread : threads) {
    std::string text;
    if (!read_file(tasks + "/" + std::to_string(thread) + "/children", &text)) continue;
    const char* at = text.c_str();
    char* end = nullptr;
    for (long child = std::strtol(at, &end, 10); end != at; child = std::strtol(at, &end, 10)) {
      children.push_back(static_cast<pid_t>(child));
      at = end;
    }
  }
  return children;
}

std::optional<Family> whole_family() {
  std::vector<pid_t> pids;
  if (!numbers_in("/proc", &pids)) return std::nullopt;
  Family family;
  for (const pid_t pid : pids) {
    std::string text;
    if (!read_file("/proc/" + std::to_string(pid) + "/stat", &text)) continue;
    const size_t name_end = text.rfind(')');  // the name may contain any bytes; state and parent follow it
    if (name_end == std::string::npos || text.size() < name_end + 5) continue;
    family[static_cast<pid_t>(std::strtol(text.c_str() + name_end + 4, nullptr, 10))].push_back(pid);
  }
  if (family.empty()) return std::nullopt;  // not a /proc
  return family;
}

}  // namespace

int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::optional<std::vector<pid_t>> children_of(pid_t pid) {
  if (has_children_files()) return listed_children(pid);
  const auto family = whole_family();
  if (!family) return std::nullopt;
  const auto found = family->find(pid);
  return found == family->end() ? std::vector<pid_t>{} : found->second;
}

void signal_trees(const std::vector<pid_t>& roots, int signal) {
  const bool listed = has_children_files();
  const std::optional<Family> family = listed ? std::nullopt : whole_family();
  std::set<pid_t> seen(roots.begin(), roots.end());
  std::vector<pid_t> open = roots;
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    std::vector<pid_t> children;
    if (listed) {
      children = listed_children(pid);
    } else if (family && family->count(pid) > 0) {
      children = family->at(pid);
    }
    for (const pid_t child : children) {
      if (seen.insert(child).second) open.push_back(child);
    }
  }

  const pid_t own_group = ::getpgrp();
  std::set<pid_t> groups;
  for (const pid_t pid : seen) {
    const pid_t group = ::getpgid(pid);
    if (group > 1 && group != own_group) {
      groups.insert(group);
    } else if (group > 0) {
      ::kill(pid, signal);  // forked, but not yet in its own session
    }
  }
  for (const pid_t group : groups)
    ::kill(-group, signal);
}

}  // namespace lineward::process::spawning
