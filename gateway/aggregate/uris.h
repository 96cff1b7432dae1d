// URIs of many servers as one (behaviour.md 7). A URI says whose it is: `fs+file:///x` is server fs's
// `file:///x`, and the way back needs no table. Schemes that clients rely on (ui:, https:, http:, data:) stay
// as they are where the bare URI leads back to its server; else it is `ui://fs+…` or `fs+https://…`. The bare
// form of a listed URI leads back when no other server has the same one, that of a template when the text
// before its first expression names one server alone.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aggregate/naming.h"

namespace lineward::aggregate {

// A server's name as the beginning of a scheme (RFC 3986, 3.1): lower case letters, digits, '-'. A name that
// is none gets a hash, so that two servers never meet.
std::string origin_token(std::string_view server);
// Does a client rely on this scheme?
bool keeps_scheme(std::string_view uri);
std::string with_origin(std::string_view server, std::string_view uri);

class Uris {
 public:
  // At most that many that are listed, and that many that were seen in results.
  Uris(size_t most, size_t most_seen) : owners_(most), most_seen_(most_seen) {}

  void add_server(const std::string& server) { by_token_[origin_token(server)] = server; }

  // One that the server lists: it is the server's own from here on, whoever else has the same. Empty: it
  // cannot lead back, and has to be left out.
  std::string listed(const std::string& server, const std::string& uri);
  // A template that the server lists: what is shown here leads back to it in each of its expansions.
  std::string listed_template(const std::string& server, const std::string& uri_template);
  // One that comes in a result or a notification.
  std::string to_client(const std::string& server, const std::string& uri);
  struct Target {
    std::string server;
    std::string uri;
  };
  // Nothing: it names no origin, and no server has shown it.
  std::optional<Target> to_server(const std::string& shown) const;

  const Owners& owners() const { return owners_; }

 private:
  std::string claim(const std::string& server, const std::string& uri, bool bare);
  // The server that this URI of a kept scheme names by its token; null: none.
  const std::string* named_in(std::string_view uri) const;
  const std::string* template_owner(std::string_view uri) const;
  // Do all URIs that begin so lead to this server alone, once it is known to be its?
  bool leads_back(const std::string& server, std::string_view literal) const;
  void saw(const std::string& server, const std::string& uri);

  Owners owners_;
  size_t most_seen_;
  std::unordered_map<std::string, std::string> by_token_;  // token → server
  // Ordered: URIs come from servers, which could choose them so that they meet in one bucket of a hash table.
  std::map<std::string, std::string, std::less<>> seen_;  // kept URIs of results: uri → server, the last ones
  std::deque<std::string> seen_order_;
  HeldCount seen_bytes_{Held::servers};
  // Of templates that are shown bare: literal beginning → server. None begins another server's.
  std::map<std::string, std::string, std::less<>> templates_;
};

}  // namespace lineward::aggregate
