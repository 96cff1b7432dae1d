// An MCP client of revision 2026-07-28, for one request at a time. It is connected to its own gateway, which
// handles the server's era and transport, limits and cancels.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operate/mcp_client/line_link.h"

namespace lineward::mcp_client {

struct Answer {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  enum class Kind : unsigned char {
    result,
    error,        // body: code, message, data
    interrupted,  // the request is still open: cancel() it, or go_on() waiting
    lost,         // the gateway is gone, or its message was invalid: `why`
  };
  Kind kind = Kind::lost;
  nlohmann::json body;
  std::string why;
};

// Callbacks while a request waits. Either may be empty.
struct Watch {
  std::function<void(const nlohmann::json& progress)> progress;  // params of notifications/progress
  std::function<void()> tick;                                    // every kTick
};

class Client {
 public:
  static constexpr std::chrono::milliseconds kTick{200};

  // `self`: name and version, as servers and operators see them. `capabilities` are declared in each request.
  Client(LineLink& link, nlohmann::json self, nlohmann::json capabilities)
      : link_(link), self_(std::move(self)), capabilities_(std::move(capabilities)) {}

  // `params` without `_meta`.
  Answer ask(const std::string& method, nlohmann::json params, const Watch& watch = {});
  // After `interrupted`: continues to wait for the same answer.
  Answer go_on(const Watch& watch = {});
  // After `interrupted`: cancels the request. No answer follows.
  void cancel(const std::string& reason);

 private:
  LineLink& link_;
  nlohmann::json self_;
  nlohmann::json capabilities_;
  int64_t id_ = 0;
};

// All pages of tools/list, as one array. At most kMaxTools; elements that are not objects with a name are
// omitted.
inline constexpr size_t kMaxTools = 10'000;
// A server behind an aggregate with missing tools, as the result's `_meta` reports (behaviour.md 7).
struct MissingPart {
  std::string server;
  std::string why;  // one plain sentence; may be empty
};
inline constexpr size_t kMaxMissing = 1000;
struct ToolList {  // NOLINT(bugprone-exception-escape)
  nlohmann::json tools = nlohmann::json::array();
  std::vector<MissingPart> missing;  // at most kMaxMissing, each once
  Answer failed;                     // with kind result: no failure
  bool cut = false;                  // there are more than kMaxTools
};
ToolList list_tools(Client& client);

}  // namespace lineward::mcp_client
