// Replaces Lineward's own file with servers (config/reader/include.h) by a rename, and takes that back
// exactly. Only the gateway can read the new file. The directory is locked meanwhile.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <string_view>

namespace lineward::cli {

// The lock is of the directory: the file itself is replaced. Released when destroyed.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  // The error, or empty.
  std::string take() const;
  void sync() const;

 private:
  int fd_;
};

struct ProcessIds {
  uid_t user = 0;
  gid_t group = 0;
};

struct FileAccess {
  uid_t owner = 0;
  gid_t group = 0;
  bool group_reads = false;
};

// The access of the new file. It is that of the file it replaces, else that of the configuration. It may have
// secrets, so the group of the gateway stands in place of everyone. Null: there is none, or it is
// unknown. `as_root`: the command may give files away.
FileAccess access_of_own_file(const struct stat* own, const struct stat& configuration,
                              const ProcessIds* gateway, bool as_root);

// All calls while the directory is locked.
class OwnFile {
 public:
  // `gateway`: the process that reads it; 0: none.
  OwnFile(std::string path, std::string configuration, pid_t gateway);
  // Removes what it kept to take a change back.
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  // The error if it cannot be replaced: it is there, and no regular file.
  std::string unfit() const;
  // Replaces it; the error, or empty.
  std::string write(std::string_view text, const DirectoryLock& lock);
  // The file from before `write`, with its owner and mode, or none; the error, or empty. `before`: its text.
  std::string take_back(const std::string& before, const DirectoryLock& lock);

 private:
  std::string hidden(std::string_view ending) const;
  void remove_leftovers() const;

  const std::string path_, configuration_;
  const pid_t gateway_;
  std::string kept_;      // another name of the file from before; empty: none
  bool existed_ = false;  // before `write`
};

}  // namespace lineward::cli
