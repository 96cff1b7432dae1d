// Tells when a file may have changed: by events of its directory (a watch on the file itself goes dead at the
// first rename over it, and a Kubernetes ConfigMap changes by a swap of the link `..data` beside it), and by
// looking every two seconds, for file systems without events and for links that lead elsewhere.
//
// One call for what happens within 200 ms. A call says that it is worth looking, not that anything changed.
#pragma once

#include <functional>
#include <string>

#include "net/handle.h"
#include "net/loop.h"

namespace lineward::net {

class FileWatch {
 public:
  FileWatch(Loop& loop, const std::string& path, std::function<void()> changed);

 private:
  using Signature = std::string;  // of what stat() says; empty: it is not there
  void open();
  void poll();
  void soon();

  Loop& loop_;
  std::string path_, directory_, name_;
  std::function<void()> changed_;
  Handle<uv_fs_event_t> events_;
  Signature watched_;  // the directory that is watched
  Signature seen_;     // the file
  Timer poll_;
  Timer settle_;
};

}  // namespace lineward::net
