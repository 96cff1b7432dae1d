// The resident memory of process trees, read on request and remembered for a short time: operators may ask as
// often as they like. On the first worker's thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lineward::admin {

class TreeMemory {
 public:
  // Whether the process exists; adds its memory and that of its descendants.
  using Reader = std::function<std::optional<uint64_t>(pid_t root)>;
  explicit TreeMemory(Reader reader) : reader_(std::move(reader)) {}

  // Bytes of the process and its descendants, at most kFresh old. Nullopt: it does not exist, or kMostReads
  // others were read within kFresh.
  std::optional<uint64_t> of(pid_t root, std::chrono::milliseconds now);

  static constexpr std::chrono::milliseconds kFresh{2000};
  static constexpr size_t kMostReads = 512;

 private:
  Reader reader_;
  std::chrono::milliseconds since_{-kFresh};
  std::unordered_map<pid_t, std::optional<uint64_t>> read_;  // since then
};

// Reads /proc of a tree, as read_tree() (operate/admin/process_info.h).
std::optional<uint64_t> resident_of_tree(pid_t root);

}  // namespace lineward::admin
