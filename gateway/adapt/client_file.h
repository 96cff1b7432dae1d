// The servers of a configuration, whichever client's file they came from, and the way there and back.
//
// Values stay as they are written, secrets too: only what is asked for gets them, and no remark repeats one.
// Variables are kept as Lineward spells them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapt/client_form.h"
#include "base/result.h"
#include "config/reader/document.h"

namespace lineward::adapt {

struct ClientServer {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string name;
  std::string type;  // of a url: http, sse; empty: nobody said
  std::string command, cwd, env_file, url;
  std::vector<std::string> args;
  Pairs env, headers;
  std::optional<std::chrono::milliseconds> max_duration, startup;
  bool disabled = false;
  std::vector<std::string> allow, deny;  // tools
  std::vector<config::Member> own;       // options of Lineward that no client has
};

struct ClientFile {
  Form form = Form::yaml;
  std::vector<ClientServer> servers;
  config::Node inputs;               // VS Code's; null where there are none
  std::vector<config::Member> own;   // options of Lineward beside the servers
  std::vector<std::string> remarks;  // what was left out, in sentences
};

// `from`: nothing, it is found out by the name and the text. The error says what is wrong and where.
Result<ClientFile> read_client_file(std::string_view text, const std::string& name, std::optional<Form> from);

struct Adapted {
  std::string text;
  std::vector<std::string> remarks;
};
Adapted write_client_file(const ClientFile& file, Form to);

}  // namespace lineward::adapt
