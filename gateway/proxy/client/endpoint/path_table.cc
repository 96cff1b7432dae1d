#include "proxy/client/endpoint/path_table.h"

namespace lineward::client {

const std::string* PathTable::led_by(const std::string& path) const {
  if (auto found = servers.find(path); found != servers.end()) return &found->second;
  if (auto found = sse_posts.find(path); found != sse_posts.end()) return &found->second;
  auto found = leaving.find(path);
  return found == leaving.end() ? nullptr : &found->second;
}

const std::vector<std::string>& PathTable::before(std::string_view path) const {
  static const std::vector<std::string> kNone;
  if (former.empty()) return kNone;
  auto found = former.find(std::string(without_slash(path)));
  return found == former.end() ? kNone : found->second;
}

size_t PathTable::worker_of(std::string_view path) const {
  const std::string key(path);
  if (auto route = servers.find(key); route != servers.end()) return home(route->second);
  for (const auto* table : {&sse_streams, &sse_posts}) {
    auto route = table->find(key);
    if (route != table->end()) return home(route->second);
  }
  if (auto route = leaving.find(key); route != leaving.end()) return home(route->second);
  // The metadata of the plain sidecar's server is served on the server's worker.
  const bool metadata = resource && well_known(path).has_value();
  return metadata && documents.count(key) == 0 ? home(plain) : 0;
}

}  // namespace lineward::client
