// The text of Lineward's own file with servers (config/reader/include.h): read, changed, and written as a
// whole. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader/document.h"
#include "foundation/base/result.h"

namespace lineward::cli {

// A server as the command line describes it. Values may be secrets.
struct NewServer {
  std::string name;
  std::string command;  // either this or url
  std::vector<std::string> args;
  std::string cwd;
  std::vector<std::pair<std::string, std::string>> env;
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
};

class ServerFile {
 public:
  // Empty text: an empty file. The error is one sentence, without a value.
  static Result<ServerFile> read(std::string_view text, const std::string& path);
  std::string text() const;

  bool has(std::string_view name) const;
  void add(const NewServer& server);
  // False: it has none of that name. Forgets that it is disabled too.
  bool remove(std::string_view name);
  // A server of any file.
  bool is_disabled(std::string_view name) const;
  void disable(const std::string& name);
  bool enable(std::string_view name);

 private:
  std::vector<std::string> disabled_;
  std::vector<config::Member> servers_;
};

}  // namespace lineward::cli
