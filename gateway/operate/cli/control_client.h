// Sends requests to a running gateway over its control socket (operate/admin/admin_server.h), and waits for
// the answer, up to a limit. For interactive commands.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "operate/cli/control_connection.h"

namespace lineward::cli {

struct ControlReply {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  int status = 0;
  nlohmann::json body;
};

// Longer than the maximum wait for a cancel.
inline constexpr std::chrono::seconds kAnswerLimit{40};

// Sends one request; `body` empty: GET, else POST. The error is one plain sentence.
Result<ControlReply> ask(const std::string& socket, const std::string& path, const std::string& body = {},
                         std::chrono::milliseconds limit = kAnswerLimit);
// The complete reply of a finished connection. Its body must not have been taken.
Result<ControlReply> reply_of(ControlConnection& connection);
// Makes all strings of an answer safe for a terminal.
void make_printable(nlohmann::json& value);

// The socket that `--admin` or LINEWARD_ADMIN_ADDRESS names, or that of the only running gateway. For a TCP
// address all running gateways are asked for theirs.
struct Found {
  std::string socket;
  std::vector<std::string> several;  // set if there is more than one
  std::string fault;                 // error in `address`
};
Found find_gateway(const std::string& address);

}  // namespace lineward::cli
