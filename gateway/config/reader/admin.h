// What a configuration says of the admin API, beyond single options: an address that others reach wants
// tokens, and the file of those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/reader/load.h"

namespace lineward::config {

struct Node;

// Makes tokenFile absolute to the configuration's directory, and notes what is wrong.
void check_admin(const Node& root, const LoadOptions& options, LoadResult& result);

// A token and what its bearer may do.
struct AdminToken {
  std::string token;  // a secret
  bool operate = false;
};

// `read TOKEN` or `operate TOKEN` on each line; empty lines and those that begin with # say nothing. An error
// names the line, and no token.
Result<std::vector<AdminToken>> parse_admin_tokens(std::string_view text);
Result<std::vector<AdminToken>> read_admin_tokens(const std::string& path);

// HOST:PORT, and none of the words and paths.
bool is_tcp_address(std::string_view address);
// Is it that, and not this machine's alone? Names count as others' but for localhost: what they mean is known
// only when the address is bound.
bool is_open_address(std::string_view address);

}  // namespace lineward::config
