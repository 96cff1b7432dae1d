#include "operate/admin/tree_memory.h"

#include "operate/admin/process_info.h"

namespace lineward::admin {

std::optional<uint64_t> TreeMemory::of(pid_t root, std::chrono::milliseconds now) {
  if (now - since_ >= kFresh) {
    read_.clear();
    since_ = now;
  }
  if (const auto known = read_.find(root); known != read_.end()) return known->second;
  if (read_.size() >= kMostReads) return std::nullopt;
  return read_[root] = reader_(root);
}

std::optional<uint64_t> resident_of_tree(pid_t root) {
  ProcessInfo info;
  if (!read_tree(root, info)) return std::nullopt;
  return static_cast<uint64_t>(info.resident_bytes);
}

}  // namespace lineward::admin
