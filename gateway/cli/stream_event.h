// One event of a gateway's stream, as a reader has it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lineward::cli {

struct StreamEvent {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  std::string type, id;
  nlohmann::json data;  // an object, and printable
};

}  // namespace lineward::cli
