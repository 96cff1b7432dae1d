// URIs of many servers at the aggregate (behaviour.md 7). A URI contains its server: `fs+file:///x` is server
// fs's `file:///x`, and the reverse mapping needs no table. Schemes that clients rely on (ui:, https:, http:,
// data:) stay unchanged where the bare URI is unique to its server. Otherwise it is `ui://fs+…` or
// `fs+https://…`. A listed URI stays bare when no other server has the same URI; a template, when the text
// before its first expression identifies one server.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/aggregate/naming.h"
#include "proxy/aggregate/shared_names.h"

namespace lineward::aggregate {

// A server's name as the beginning of a scheme (RFC 3986, 3.1): lower case letters, digits, '-'. An
// unsuitable name gets a hash, so that two servers never collide.
std::string origin_token(std::string_view server);
// Do clients rely on this scheme?
bool keeps_scheme(std::string_view uri);
std::string with_origin(std::string_view server, std::string_view uri);

class Uris {
 public:
  // At most `most` listed URIs, and `most_seen` seen in results.
  Uris(size_t most, size_t most_seen) : owners_(most, NameKind::uri), most_seen_(most_seen) {}
  Uris(const Uris&) = delete;
  Uris& operator=(const Uris&) = delete;

  // Additions from now on hold for all workers; `sync` outlives this.
  void share(NameSync& sync);
  // A URI, the beginning of a template, or an origin that another worker has added.
  void take(const NameClaim& claim);
  void take(const SeenUri& seen) { keep_seen(seen.server, seen.uri); }
  void forget_seen();

  void add_server(const std::string& server);
  // Its URIs may belong to others from here on. On this worker alone. False: nothing was known of it.
  bool forget_server(const std::string& server);

  // A URI that the server lists: it belongs to this server from now on. Empty: it is ambiguous, and has to be
  // omitted.
  std::string listed(const std::string& server, const std::string& uri);
  // A template that the server lists: each expansion of the returned template leads back to it.
  std::string listed_template(const std::string& server, const std::string& uri_template);
  // A URI in a result or a notification.
  std::string to_client(const std::string& server, const std::string& uri);
  struct Target {
    std::string server;
    std::string uri;
  };
  // Empty: it contains no server, and no server has sent it.
  std::optional<Target> to_server(const std::string& shown) const;

  const Owners& owners() const { return owners_; }
  // While it stays the same, each URI is shown as before. Increases.
  uint64_t version() const { return changes_ + owners_.version(); }

 private:
  std::string claim(const std::string& server, const std::string& uri, bool bare);
  // The server named by the token in a URI of a kept scheme; null: none.
  const std::string* named_in(std::string_view uri) const;
  const std::string* template_owner(std::string_view uri) const;
  // Would all URIs with this beginning lead to this server alone, once it is registered?
  bool leads_back(const std::string& server, std::string_view literal) const;
  // How clients see a URI that is known already; empty: it is not.
  std::optional<std::string> known(const std::string& server, const std::string& uri) const;
  // False: it was known.
  bool keep_seen(const std::string& server, const std::string& uri);

  Owners owners_;
  NameSync* sync_ = nullptr;
  size_t most_seen_;
  uint64_t changes_ = 0;                                   // of all below
  std::unordered_map<std::string, std::string> by_token_;  // token → server
  // Ordered: URIs come from servers, which could choose colliding hash keys.
  std::map<std::string, std::string, std::less<>> seen_;  // kept URIs of results: uri → server, the most
                                                          // recent ones
  std::deque<std::string> seen_order_;
  HeldCount seen_bytes_{Held::servers};
  // Templates shown bare: literal beginning → server. No beginning is a prefix of another server's.
  std::map<std::string, std::string, std::less<>> templates_;
};

}  // namespace lineward::aggregate
