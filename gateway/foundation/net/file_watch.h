// Calls back when a file, or a file of a directory, may have changed. It watches the directory: a watch on
// the file ends at the first rename over it, and a Kubernetes ConfigMap changes by swapping the link
// `..data`. It also polls every two seconds, for file systems without events and links to other places.
//
// Changes within 200 ms give one call. A call means the file should be read again, not that it changed.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "foundation/net/handle.h"
#include "foundation/net/loop.h"

namespace lineward::net {

class FileWatch {
 public:
  using Signature = std::string;  // from stat(); empty: no such file

  // `path`: with a slash at its end, all files of that directory, which may come later.
  FileWatch(Loop& loop, const std::string& path, std::function<void()> changed)
      : FileWatch(loop, path, std::move(changed), look(path)) {}
  // `seen`: from look(), before the file was read. A change since then is noticed too.
  FileWatch(Loop& loop, const std::string& path, std::function<void()> changed, Signature seen);
  static Signature look(const std::string& path);

 private:
  void open();
  void poll();
  void soon();

  Loop& loop_;
  std::string path_, directory_, name_;  // no name: all files of the directory
  std::function<void()> changed_;
  Handle<uv_fs_event_t> events_;
  Signature watched_;  // of the watched directory
  Signature seen_;     // of the file
  Timer poll_;
  Timer settle_;
};

}  // namespace lineward::net
