// The file of the audit log: lines are appended whole or again, a full file gets a name of its own, the one
// that takes its place goes on with its chain. Used by one thread, which may wait for the disk.
//
// A full file is called NAME.FIRST, with the number of its first record in twelve digits, so that names sort
// as records do; NAME.FIRST-N where there is one of that name already. What cannot be written stays here and
// is tried again; nothing is written twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/chain.h"
#include "base/result.h"

namespace lineward::audit {

class AuditFile {
 public:
  // What was there when it was opened.
  struct Found {
    Chain chain;            // where it goes on
    std::string last_type;  // of the last record; empty: there was none
    bool closed = false;    // with that one its process closed the log
    std::string torn;       // behind that record: the beginning of one that was never written whole
  };

  // Where `path` is a symbolic link, its target is the file, from here on: full ones stand beside that.
  explicit AuditFile(std::string path);
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  // Opens it, or makes it (mode 0640), and finds the end of the chain, also in the newest full file, or in
  // one that somebody else has named after it (NAME.1, NAME-20261125), where this one begins anew. The error
  // says why not: it cannot be read, it is no audit log, or another process writes it.
  Result<Found> open();
  // Lines of records with their newlines. False: not all of it is on the disk yet, see fault().
  bool write(std::string_view lines);
  // Tries again what is left. True when nothing is.
  bool flush();
  bool pending() const { return !left_.empty() || fd_ < 0 || !misplaced_.empty(); }
  const std::string& fault() const {
    return !misplaced_.empty() ? misplaced_ : !unsynced_.empty() ? unsynced_ : fault_;
  }
  // To the disk itself. False: it said no, and what was written since the last time may be lost with the
  // power; see fault(), until it says yes.
  bool sync();
  // Why the file before this one may not be whole on the disk, once; empty: it is.
  std::string take_behind() { return std::exchange(behind_, {}); }
  // Nothing is written from here on: another process may have it, or another log of this one.
  void close();

  uint64_t size() const { return size_; }
  // Has its name been given to another file, or to none?
  bool moved() const;
  // Gives it its name as a full file, keeps the newest `keep` of those (0: all), and begins the next one.
  // False: the file could not be renamed and goes on, or the next
  // one could not be opened yet (flush() tries again); see fault().
  bool rotate(uint32_t keep);
  // Opens what stands under its name now, or makes it, beside the one that is written. False: that cannot be
  // done, and nothing is written until it can, or the name leads to our file again; see fault().
  bool open_next();
  // It does.
  void found() { misplaced_.clear(); }
  // From here on the next one is written, with what the one before could not take; that one is closed.
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
  uint64_t first_ = 1;    // the number of this file's first record; 0: that of the next one
  std::string left_;      // that could not be written, from the beginning of a line
  size_t left_from_ = 0;  // of that is on the disk
  std::string fault_;
  std::string misplaced_, unsynced_, behind_;  // why
};

// The full files of this audit log, the oldest first. `last`: no record of the log has a higher number, and
// so a name with one (a date) is not ours.
std::vector<std::string> full_files(const std::string& path, uint64_t last = UINT64_MAX);

}  // namespace lineward::audit
