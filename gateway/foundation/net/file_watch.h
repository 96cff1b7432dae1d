// Calls back when a file, or a file of a directory, has changed. It watches the directory: a watch on the
// file ends at the first rename over it, and a Kubernetes ConfigMap changes by swapping the link `..data`. It
// also polls every two seconds, for file systems without events and links to other places.
//
// Changes within 200 ms give one call. A change is one of the signature; the text may be the same.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/net/handle.h"
#include "foundation/net/loop.h"

namespace lineward::net {

class FileWatch {
 public:
  using Signature = std::string;  // from stat(); empty: no such file
  // Selects files. It is copied, and called on other threads.
  using Names = std::function<bool(std::string_view name)>;

  FileWatch(Loop& loop, const std::string& path, std::function<void()> changed)
      : FileWatch(loop, path, std::move(changed), look(path)) {}
  // `seen`: from look(), before the file was read. A change since then is noticed too.
  FileWatch(Loop& loop, const std::string& path, std::function<void()> changed, Signature seen);
  // The files of a directory, which may come later, that have such names.
  FileWatch(Loop& loop, const std::string& directory, Names names, std::function<void()> changed);
  static Signature look(const std::string& path);

 private:
  void open();
  void poll();
  void soon();
  bool concerns(std::string_view name) const;
  std::optional<Signature> look_again() const;  // no value: its file system does not answer

  Loop& loop_;
  std::string path_, directory_, name_;
  Names names_;  // empty: one file
  std::function<void()> changed_;
  Handle<uv_fs_event_t> events_;
  Signature watched_;  // of the watched directory
  Signature seen_;     // of the file, or of all files
  Timer poll_;
  Timer settle_;
};

}  // namespace lineward::net
