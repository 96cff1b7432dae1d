// Fetches small public documents of an HTTP server for clients: its protected-resource metadata (RFC 9728). A
// GET each through the pool, without any credentials, bounded in size, time and number.
//
// Owned by the upstream; must be destroyed before its pools.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proxy/core/document_source.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {

class HttpDocument;

class HttpDocuments {
 public:
  explicit HttpDocuments(net::Loop& loop);
  ~HttpDocuments();

  void fetch(HttpPool& pool, const std::string& path, core::DocumentDone done);
  void drop_all();

 private:
  friend class HttpDocument;
  void over(HttpDocument& document);

  net::Loop& loop_;
  std::vector<std::unique_ptr<HttpDocument>> documents_;
};

}  // namespace lineward::upstream
