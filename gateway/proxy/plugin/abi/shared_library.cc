#include "proxy/plugin/abi/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "foundation/net/static_init.h"

namespace lineward::plugin {
namespace {

constexpr const char* kEntry = "lineward_plugin_entry";
// All members up to detach() are required; later ones may be null.
constexpr size_t kLeast = offsetof(lineward_plugin_api, detach) + sizeof(lineward_plugin_api::detach);

std::string loader_says() {
  const char* text = dlerror();
  return text == nullptr ? "the loader does not say why" : std::string(text).substr(0, 500);
}

std::string fault_of(const lineward_plugin_api* api) {
  if (api == nullptr) return fmt::format("{}() returned nothing", kEntry);
  if (api->abi != LINEWARD_PLUGIN_ABI) {
    return fmt::format(
        "was built for plugin interface {}, and this Lineward speaks {}: build it anew with its "
        "headers",
        api->abi, LINEWARD_PLUGIN_ABI);
  }
  if (api->size < kLeast || api->size > 65536) {
    return fmt::format("{}() returned a table of {} bytes, and interface {} has {}", kEntry, api->size,
                       LINEWARD_PLUGIN_ABI, sizeof(lineward_plugin_api));
  }
  bool whole = api->create != nullptr && api->destroy != nullptr && api->attach != nullptr &&
               api->on_client_message != nullptr && api->on_upstream_message != nullptr &&
               api->on_end != nullptr && api->detach != nullptr;
  if (!whole) return fmt::format("{}() returned a table without all functions that a plugin needs", kEntry);
  return {};
}

}  // namespace

Result<std::shared_ptr<SharedLibrary>> SharedLibrary::open(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return fail(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return fail(path + " is no file");
  if (net::kSelfContained) {
    return fail(fmt::format(
        "{} cannot be loaded: this Lineward is one static binary, which loads no shared objects. Use the "
        "Debian package, a build of your own (make build) or a plugin of kind `hook`",
        path));
  }
  std::shared_ptr<SharedLibrary> library(new SharedLibrary);
  dlerror();
  library->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) return fail(fmt::format("{} cannot be loaded: {}", path, loader_says()));
  void* symbol = dlsym(library->handle_, kEntry);
  if (symbol == nullptr)
    return fail(fmt::format("{} is no plugin of Lineward: it has no {}() (interface {})", path, kEntry,
                            LINEWARD_PLUGIN_ABI));
  using Entry = const lineward_plugin_api* (*)(void);
  Entry entry = nullptr;
  static_assert(sizeof entry == sizeof symbol);
  std::memcpy(&entry, &symbol, sizeof entry);
  try {
    library->api_ = entry();
  } catch (...) {
    return fail(fmt::format("{}: {}() threw an exception", path, kEntry));
  }
  if (std::string fault = fault_of(library->api_); !fault.empty()) return fail(path + " " + fault);
  return library;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

}  // namespace lineward::plugin
