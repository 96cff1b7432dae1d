// An event of a gateway's stream, as received.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lineward::cli {

struct StreamEvent {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  std::string type, id;
  nlohmann::json data;  // an object; its texts are safe to print
};

}  // namespace lineward::cli
