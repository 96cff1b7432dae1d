#include "client/endpoint/path_table.h"

namespace lineward::client {

size_t PathTable::worker_of(std::string_view path) const {
  const std::string key(path);
  auto lives = [this](const std::string& server) {
    auto worker = placement.find(server);
    return worker == placement.end() ? size_t{0} : worker->second;
  };
  if (auto route = servers.find(key); route != servers.end()) return lives(route->second);
  for (const auto* table : {&sse_streams, &sse_posts}) {
    auto route = table->find(key);
    if (route != table->end()) return lives(route->second);
  }
  if (auto route = leaving.find(key); route != leaving.end()) return lives(route->second);
  // The plain sidecar's server describes itself.
  bool metadata = resource && path.substr(0, kResourceMetadata.size()) == kResourceMetadata;
  return metadata && documents.count(key) == 0 ? lives(plain) : 0;
}

}  // namespace lineward::client
