// The only table of options: name, type, default, range and help. The loader, the command line's help, the
// reference file conf/every-option.yaml and the tests use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/value.h"

namespace lineward::config {

// names: true, false, or a list of names.
enum class Kind : uint8_t { duration, size, count, flag, text, list, map, choice, names };

struct Option {
  std::string_view path;  // "listen.idleTimeout", "mcpServers.*.timeouts.request"
  Kind kind;
  std::string_view fallback;  // the default in file syntax; always empty for a list or map
  uint64_t least;             // range in milliseconds, bytes or units; 0 and 0: any
  uint64_t most;
  std::string_view choices;  // "auto|text|json", in the order of the enum
  std::string_view help;
  std::string_view (*check)(const Value&);  // returns the error, or empty; may be null
  void (*set)(Config&, Server&, const Value&);
  std::string (*show)(const Config&, const Server&, Kind, std::string_view choices);
  bool (*same)(const Config&, const Server&, const Config&, const Server&);
  // Takes the value over into another configuration; null for a plugin's options.
  void (*copy)(const Config&, const Server&, Config&, Server&) = nullptr;

  bool per_server() const;
  bool inherited() const;  // may appear under `defaults:`
  std::string_view leaf() const;
  std::string key() const;       // without "mcpServers.*."
  std::string env_name() const;  // LINEWARD_…, or empty if it has none
  std::string shown(const Config& config, const Server& server) const {
    return show(config, server, kind, choices);
  }
};

inline constexpr std::string_view kServerPrefix = "mcpServers.*.";

const std::vector<Option>& options();
const Option* find_option(std::string_view path);
// Options of `listen`, by their last words, that are for the whole process: no further listener has its own.
bool is_of_process(std::string_view option);
// whether some option begins with it and a dot
bool is_group(std::string_view path);
std::vector<std::string_view> children(std::string_view group);  // names directly below; "" is the top

std::string_view kind_name(Kind kind);

}  // namespace lineward::config
