// A loaded shared object and its function table, both checked.
#pragma once

#include <memory>
#include <string>

#include "foundation/base/result.h"
#include "lineward/plugin_abi.h"

namespace lineward::plugin {

class SharedLibrary {
 public:
  // `path` is absolute. The error describes the problem, as a continuation of the file's name.
  static Result<std::shared_ptr<SharedLibrary>> open(const std::string& path);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  const lineward_plugin_api& api() const { return *api_; }

 private:
  SharedLibrary() = default;
  void* handle_ = nullptr;
  const lineward_plugin_api* api_ = nullptr;
};

}  // namespace lineward::plugin
