// One member of a configuration's tree: an option, a group of them, or a word that is neither, of which is
// said what was meant perhaps.
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

  // `group` is "" or "listen" or "mcpServers.*.timeouts"; `server`: whose option it is, where it is one's.
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
