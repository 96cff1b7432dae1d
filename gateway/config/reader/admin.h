// Checks across options of the admin API: an address reachable from other machines needs a token file. Reads
// that file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/reader/load.h"
#include "foundation/base/result.h"

namespace lineward::config {

struct Node;

// Resolves tokenFile against the configuration's directory, and reports errors.
void check_admin(const Node& root, const LoadOptions& options, LoadResult& result);

// An admin token and its rights.
struct AdminToken {
  std::string token;  // a secret
  bool operate = false;
};

// Each line is `read TOKEN` or `operate TOKEN`; empty lines and lines beginning with # are ignored. An error
// names the line, never a token.
Result<std::vector<AdminToken>> parse_admin_tokens(std::string_view text);
Result<std::vector<AdminToken>> read_admin_tokens(const std::string& path);

// Whether it is HOST:PORT, not a word or path.
bool is_tcp_address(std::string_view address);
// Whether it is a TCP address reachable from other machines. Names other than localhost count as reachable:
// they are resolved only when the address is bound.
bool is_open_address(std::string_view address);

}  // namespace lineward::config
