// Asks a running gateway over its control socket (admin/admin_server.h). Blocking: these are commands for
// people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lineward::cli {

struct ControlReply {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  int status = 0;
  nlohmann::json body;
};

// One request; `body` empty: GET, else POST. The error is one plain sentence.
Result<ControlReply> ask(const std::string& socket, const std::string& path, const std::string& body = {});

// The socket that `--admin` or LINEWARD_ADMIN_ADDRESS names, or that of the only gateway that runs.
struct Found {
  std::string socket;
  std::vector<std::string> several;  // when there is more than one
  std::string fault;                 // of `address`
};
Found find_gateway(const std::string& address);

}  // namespace lineward::cli
