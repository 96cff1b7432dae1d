// The servers of a configuration in any client's format, with reader and writer.
//
// Values are kept as written, including secrets: only the requested output contains them, and no remark
// repeats one. Variables are kept in Lineward's spelling.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader/document.h"
#include "foundation/base/result.h"
#include "operate/config_formats/client_form.h"

namespace lineward::config_formats {

struct ClientServer {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string name;
  std::string type;  // of a url: http, sse; empty: not given
  std::string command, cwd, env_file, url;
  std::vector<std::string> args;
  Pairs env, headers;
  std::optional<std::chrono::milliseconds> max_duration, startup;
  bool disabled = false;
  std::vector<std::string> allow, deny;  // tools
  std::vector<config::Member> own;       // Lineward options without a counterpart in clients
};

struct ClientFile {
  Form form = Form::yaml;
  std::vector<ClientServer> servers;
  config::Node inputs;               // VS Code's; null if there are none
  std::vector<config::Member> own;   // Lineward options outside of servers
  std::vector<std::string> remarks;  // sentences about omitted parts
};

// `from`: nullopt to detect the form by name and text. The error has the problem and its position.
Result<ClientFile> read_client_file(std::string_view text, const std::string& name, std::optional<Form> from);

struct Adapted {
  std::string text;
  std::vector<std::string> remarks;
};
Adapted write_client_file(const ClientFile& file, Form to);

}  // namespace lineward::config_formats
