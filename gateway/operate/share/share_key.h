// The key of a shared gateway: two clients share one if all that could make a difference to their servers is
// equal. The key is a digest, so that it shows no value of a variable or of the configuration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"

namespace lineward::share {

// Variables of shells and terminals that differ between two windows and mean nothing to a server.
bool is_noise(std::string_view name);
// A server starts in the working directory, or is found from there.
bool depends_on_directory(const config::Config& config);
std::string working_directory();
// The variables that count, in order of their names: those that the servers get, and those that Lineward
// itself reads. `own` as the global `environ`.
std::map<std::string, std::string> counted_environment(const config::Config& config, const char* const* own);

struct ShareFacts {
  std::string version, revision;
  std::vector<std::pair<std::string, std::string>> words;  // of the command line, with their options
  // The configuration file and those that it includes, with their content.
  std::vector<std::pair<std::string, std::string>> files;
  // Variables that were looked up while it was read.
  std::map<std::string, std::optional<std::string>> looked_up;
  std::map<std::string, std::string> environment;
  std::string directory;                // empty: does not count
  std::vector<std::string> machine;     // machine_facts()
  std::vector<std::string> from_files;  // of the configuration: values and digests read from other files
};

// 32 hexadecimal digits.
std::string share_key(const ShareFacts& facts);

// Facts about this process: its program, user and namespaces, and the programs of the servers. A program
// that was replaced, by an update for example, is another one.
std::vector<std::string> machine_facts(const config::Config& config);
// Which files these are, as far as they are there.
std::vector<std::string> facts_of_files(const std::vector<std::string>& paths);
// The values that the configuration has from files other than its own.
std::vector<std::string> facts_from_files(config::Config config);

}  // namespace lineward::share
