// Asks a running gateway over its control socket (admin/admin_server.h), and waits for the answer: these are
// commands for people. None waits for longer than its limit.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/control_connection.h"

namespace lineward::cli {

struct ControlReply {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  int status = 0;
  nlohmann::json body;
};

// Longer than a cancel is waited for.
inline constexpr std::chrono::seconds kAnswerLimit{40};

// One request; `body` empty: GET, else POST. The error is one plain sentence.
Result<ControlReply> ask(const std::string& socket, const std::string& path, const std::string& body = {},
                         std::chrono::milliseconds limit = kAnswerLimit);
// What a connection brought, whole: the same for those who wait for several things.
Result<ControlReply> reply_of(ControlConnection& connection, std::string body, const std::string& socket);
// A text of a gateway in a list of its own: nothing in it steers a terminal.
void make_printable(nlohmann::json& value);

// The socket that `--admin` or LINEWARD_ADMIN_ADDRESS names, or that of the only gateway that runs. For an
// address of TCP those that run are asked which of them has it.
struct Found {
  std::string socket;
  std::vector<std::string> several;  // when there is more than one
  std::string fault;                 // of `address`
};
Found find_gateway(const std::string& address);

}  // namespace lineward::cli
