// The process's audit log: records from all threads are queued in a bounded buffer. A writer thread chains,
// signs and writes them. Other threads never wait for it.
//
// Records that do not fit are counted, and a record reports how many were lost since when. Failed writes are
// kept and retried. The writer thread shares only the buffer, and may outlive this object if the disk hangs.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "config/config.h"
#include "foundation/base/result.h"
#include "proxy/audit/audit.h"
#include "proxy/audit/entry.h"

namespace lineward::audit {

class AuditLog {
 public:
  // Opens the file and writes its first record. `version`: of this program. The error names the invalid file
  // or key.
  static Result<std::shared_ptr<AuditLog>> open(const config::Audit& config, const std::string& version);
  // Writes queued records, and closes the file with a record; takes at most three seconds.
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // From any thread.
  void take(Kind kind, Fields fields);
  // SIGUSR1: the file was moved away, or is about to be.
  void reopen();
  bool refuses() const;
  Counts counts() const;
  const config::Audit& config() const { return config_; }

 private:
  struct Shared;
  AuditLog(const config::Audit& config, std::shared_ptr<Shared> shared, std::thread writer)
      : config_(config), shared_(std::move(shared)), writer_(std::move(writer)) {}

  const config::Audit config_;
  const std::shared_ptr<Shared> shared_;
  std::thread writer_;
};

// Sets the log that record() writes to; null: none. Call it while no other thread records.
void use(std::shared_ptr<AuditLog> trail);

}  // namespace lineward::audit
