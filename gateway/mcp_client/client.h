// An MCP client of revision 2026-07-28, for one request at a time. It speaks to a gateway of its own, which
// knows all the rest: the server's era and transport, limits, cancels.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mcp_client/line_link.h"

namespace lineward::mcp_client {

struct Answer {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  enum class Kind : unsigned char {
    result,
    error,        // body: code, message, data
    interrupted,  // the request is still open: cancel() it, or go on() waiting
    lost,         // there is no gateway any more, or it said what cannot be read: `why`
  };
  Kind kind = Kind::lost;
  nlohmann::json body;
  std::string why;
};

// What happens while a request waits. Either may be empty.
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
  // After `interrupted`: waits on for the same answer.
  Answer go_on(const Watch& watch = {});
  // After `interrupted`: tells the gateway that nobody waits any more. It never answers then.
  void cancel(const std::string& reason);

 private:
  LineLink& link_;
  nlohmann::json self_;
  nlohmann::json capabilities_;
  int64_t id_ = 0;
};

// All pages of tools/list, as one array. At most kMaxTools; what is no object with a name is left out.
inline constexpr size_t kMaxTools = 10'000;
// A server behind a gateway of whose tools some, or all, did not come, as its `_meta` says (behaviour.md 7).
struct MissingPart {
  std::string server;
  std::string why;  // one plain sentence; may be empty
};
inline constexpr size_t kMaxMissing = 1000;
struct ToolList {  // NOLINT(bugprone-exception-escape)
  nlohmann::json tools = nlohmann::json::array();
  std::vector<MissingPart> missing;  // at most kMaxMissing, each once
  Answer failed;                     // with kind result: nothing did
  bool cut = false;                  // there are more than kMaxTools
};
ToolList list_tools(Client& client);

}  // namespace lineward::mcp_client
