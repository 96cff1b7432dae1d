// Definitions of tools as they were when somebody approved of them: a digest for each server, tool and
// revision of the protocol (servers describe a tool differently in different revisions), in a JSON file.
// Against servers that change what a tool says after it was allowed.
//
// All workers of this process share one set for a file: a list is judged where its client's path lives, a
// call perhaps elsewhere. Each touch is one short lock; who reads or writes the file waits for others who do.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::plugins {

// A digest of the JSON value by its meaning: order of members, white space and escapes do not count, spelling
// of numbers does. Empty when a key stands twice in an object, at any depth: readers would differ.
std::string definition_digest(std::string_view json);

class ToolPins {
 public:
  enum class Mode : uint8_t {
    learn,    // tools that the file does not have are added to it
    enforce,  // tools that the file does not have are refused; the file is never written
  };
  enum class Finding : uint8_t { same, learnt, changed, unknown, ambiguous, full };

  // The one of this file and mode; made by whoever asks first, gone with the last who keeps it.
  static std::shared_ptr<ToolPins> of(const std::string& path, Mode mode);
  ToolPins(std::string path, Mode mode) : path_(std::move(path)), mode_(mode) {}

  // Reads the file; that there is none is an error where it is enforced.
  Status<> load();
  // Writes what was learnt, atomically, readable for this user alone.
  Status<> save();
  bool unsaved() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return unsaved_;
  }

  // A tool of a server's list.
  Finding check(std::string_view server, std::string_view revision, const std::string& name,
                std::string_view definition);
  // May it be called? Not when a list has shown that it changed, nor when it is enforced and not known.
  bool may_call(std::string_view server, const std::string& name) const;

  const std::string& path() const { return path_; }
  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return count_;
  }

 private:
  struct Tool {
    std::map<std::string, std::string, std::less<>> digests;  // by revision
    bool changed = false;                                     // a list showed another definition
    bool unsaved = false;                                     // some of it is not in the file yet
  };
  using Tools = std::map<std::string, Tool, std::less<>>;

  Tool* find(std::string_view server, std::string_view name);
  const Tool* find(std::string_view server, std::string_view name) const;
  Status<> parse(const std::string& text, std::map<std::string, Tools, std::less<>>& out,
                 size_t& count) const;
  std::string text() const;

  // Taken in while the file was read: another worker may have learnt meanwhile.
  void take_in(std::map<std::string, Tools, std::less<>> servers, size_t count);

  const std::string path_;
  const Mode mode_;
  std::mutex file_mutex_;  // of what is done with the file; the first of the two
  mutable std::mutex mutex_;
  std::map<std::string, Tools, std::less<>> servers_;
  size_t count_ = 0;  // of digests
  bool unsaved_ = false;
};

}  // namespace lineward::plugins
