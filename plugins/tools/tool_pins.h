// Approved definitions of tools: a digest for each server, tool and protocol revision (descriptions differ
// between revisions), in a JSON file. Protects against servers that change a tool's definition after its
// approval.
//
// All workers share one set per file: a list is checked on its client's worker, a call possibly on another.
// Each access is one short lock; operations on the file are serialized.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/result.h"

namespace lineward::plugins {

// A digest of the JSON value's meaning. Member order, white space and escapes are ignored, the spelling of
// numbers is not. Empty for a duplicate key in any object: readers would differ.
std::string definition_digest(std::string_view json);

class ToolPins {
 public:
  enum class Mode : uint8_t {
    learn,    // tools missing in the file are added to it
    enforce,  // tools missing in the file are refused; the file is never written
  };
  enum class Finding : uint8_t { same, learnt, changed, unknown, ambiguous, full };

  // The set of this file and mode: created for the first caller, destroyed with the last reference.
  static std::shared_ptr<ToolPins> of(const std::string& path, Mode mode);
  ToolPins(std::string path, Mode mode) : path_(std::move(path)), mode_(mode) {}

  // Reads the file; a missing file is an error in mode `enforce`.
  Status<> load();
  // Adds learnt pins to the file, atomically, readable by this user only. Pins that other processes have
  // written there since load() stay, and are taken over. After an error the pins are still unsaved.
  Status<> save();
  bool unsaved() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return unsaved_;
  }

  // Checks a tool of a server's list.
  Finding check(std::string_view server, std::string_view revision, const std::string& name,
                std::string_view definition);
  // Whether the tool may be called: not after a list has shown a change, nor if it is unknown in mode
  // `enforce`.
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
    bool unsaved = false;                                     // not completely in the file yet
  };
  using Tools = std::map<std::string, Tool, std::less<>>;

  Tool* find(std::string_view server, std::string_view name);
  const Tool* find(std::string_view server, std::string_view name) const;
  Status<> parse(const std::string& text, std::map<std::string, Tools, std::less<>>& out,
                 size_t& count) const;
  std::string text() const;

  // Merges the file's content: another worker may have learnt pins meanwhile.
  void take_in(std::map<std::string, Tools, std::less<>> servers, size_t count);
  // With file_mutex_. A missing file leaves all as it is, in mode `learn`.
  Status<> read_file();
  Status<> write_file(const std::string& text);

  const std::string path_;
  const Mode mode_;
  std::mutex file_mutex_;  // serializes file operations; locked before mutex_
  mutable std::mutex mutex_;
  std::map<std::string, Tools, std::less<>> servers_;
  size_t count_ = 0;  // number of digests
  bool unsaved_ = false;
};

}  // namespace lineward::plugins
