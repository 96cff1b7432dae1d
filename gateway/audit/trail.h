// The one audit log of the process: records from all threads gather in a bounded buffer, and a thread of its
// own chains, signs and writes them. Nobody waits for it.
//
// What finds no room is counted, and a record says how many were lost and since when. What cannot be written
// is kept and tried again. Its thread shares the buffer and nothing else, and may outlive this where the disk
// hangs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "audit/audit.h"
#include "audit/entry.h"
#include "base/result.h"
#include "config/config.h"

namespace lineward::audit {

class Trail {
 public:
  // Opens the file and writes its first record. `version`: of this program. The error names the file or the
  // key that is not fit.
  static Result<std::shared_ptr<Trail>> open(const config::Audit& config, const std::string& version);
  // What waits is written, and the file is closed with a record; for at most three seconds.
  ~Trail();
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;

  // From any thread.
  void take(Kind kind, Fields fields);
  // The file was moved away, or is about to be looked for: SIGUSR1.
  void reopen();
  bool refuses() const;
  Counts counts() const;
  const config::Audit& config() const { return config_; }

 private:
  struct Shared;
  Trail(const config::Audit& config, std::shared_ptr<Shared> shared, std::thread writer)
      : config_(config), shared_(std::move(shared)), writer_(std::move(writer)) {}

  const config::Audit config_;
  const std::shared_ptr<Shared> shared_;
  std::thread writer_;
};

// Where record() goes from here on; null: nowhere. While no other thread records.
void use(std::shared_ptr<Trail> trail);

}  // namespace lineward::audit
