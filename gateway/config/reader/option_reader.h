// Reads one member of a configuration's tree: an option, a group, or an unknown word, for which it suggests
// an option.
//
// Owned by the TreeReader.
#pragma once

#include <string>

#include "config/config.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

class OptionReader {
 public:
  OptionReader(ValueReader& values, Config& config) : values_(values), config_(config) {}

  // `group` is "" or "listen" or "mcpServers.*.timeouts"; `server` owns the option, if it is per server.
  void read(const std::string& group, const Member& member, Server& server);
  void set(const Option& option, const Node& node, Server& server);

 private:
  bool not_built(const std::string& path, const Member& member);
  void unknown(const std::string& group, const Member& member);
  void suggest(const std::string& group, const Member& member, Diagnostic& diagnostic, const Option*& meant);

  ValueReader& values_;
  Config& config_;
};

}  // namespace lineward::config
