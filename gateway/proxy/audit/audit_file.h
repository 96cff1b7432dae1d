// The file of the audit log. Lines are appended whole, with retries; a full file is renamed, and the next one
// continues its chain. Used by one thread, which may block on the disk.
//
// A full file is named NAME.FIRST, or NAME.FIRST-N if that name exists. FIRST is the number of its first
// record in twelve digits, so that names sort like records. Lines that cannot be written are kept and
// retried; nothing is written twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/result.h"
#include "proxy/audit/hash_chain.h"

namespace lineward::audit {

class AuditFile {
 public:
  // The state found when the file was opened.
  struct Found {
    HashChain chain;        // where it continues
    std::string last_type;  // of the last record; empty: no record
    bool closed = false;    // that record closed the process's log
    std::string torn;       // an incomplete record behind the last one
  };

  // If `path` is a symbolic link, its target is the file from now on: full files are placed beside the
  // target.
  explicit AuditFile(std::string path);
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  // Opens or creates it (mode 0640), and finds the end of the chain. If this file is new, the end is in the
  // newest full file, or in one renamed by another program (NAME.1, NAME-20261125). Fails if the file cannot
  // be read, is not an audit log, or is written by another process.
  Result<Found> open();
  // Complete lines with their newlines. False: not everything is on the disk yet, see fault().
  bool write(std::string_view lines);
  // Retries unwritten lines. True if none are left.
  bool flush();
  bool pending() const { return !left_.empty() || fd_ < 0 || !misplaced_.empty(); }
  const std::string& fault() const {
    return !misplaced_.empty() ? misplaced_ : !unsynced_.empty() ? unsynced_ : fault_;
  }
  // Flushes to the disk. False: it failed, and data since the last flush may be lost in a power failure. See
  // fault(), until a flush succeeds.
  bool sync();
  // The reason why the previous file may be incomplete on the disk, once; empty: it is complete.
  std::string take_behind() { return std::exchange(behind_, {}); }
  // Stops writing: another process, or another log of this one, may have the file.
  void close();

  uint64_t size() const { return size_; }
  // Whether its name now belongs to another file, or to none.
  bool moved() const;
  // Renames it as a full file, keeps the newest `keep` of those (0: all), and begins the next one. False: the
  // file could not be renamed and continues, or the next one could not be opened yet (flush() retries); see
  // fault().
  bool rotate(uint32_t keep);
  // Opens or creates the file that its name now denotes, besides the current one. False: this failed. Writes
  // are held until it succeeds, or the name denotes the current file again; see fault().
  bool open_next();
  // The name denotes the current file again.
  void found() { misplaced_.clear(); }
  // Switches to the next file, with the lines that the current one could not take, and closes the current
  // one.
  void take_next();

 private:
  bool open_new();
  int open_locked(std::string& why) const;
  bool find_end(int fd, const std::string& name, Found& found, std::string& why);
  bool find_before(Found& found, std::string& why);
  bool find_behind(const std::string& name, Found& found, uint64_t& last, std::string& why);
  void use(int fd);
  void sync_behind(const std::string& name);
  void remove_old(uint32_t keep) const;

  const std::string path_;
  int fd_ = -1;
  int next_ = -1;
  uint64_t size_ = 0;
  uint64_t first_ = 1;    // number of this file's first record; 0: that of the next record
  std::string left_;      // unwritten data, from the beginning of a line
  size_t left_from_ = 0;  // bytes of it that are on the disk
  std::string fault_;
  std::string misplaced_, unsynced_, behind_;  // errors
};

// The full files of this audit log, oldest first. `last`: no record has a higher number, so a file name with
// a higher number (a date) is another program's.
std::vector<std::string> full_files(const std::string& path, uint64_t last = UINT64_MAX);

}  // namespace lineward::audit
