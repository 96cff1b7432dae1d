#include "operate/cli/hash_key.h"

#include <fmt/format.h>

#include <istream>

#include "foundation/base/random_id.h"
#include "operate/cli/prepare.h"
#include "plugins/auth/key_file.h"

namespace lineward::cli {
namespace {

// A shorter key may be chosen by a human; its plain hash would not protect it.
constexpr size_t kShortestKey = 20;
constexpr size_t kMaxKey = 1024;

}  // namespace

void add_hash_key(CLI::App& app, HashKeyFlags& flags) {
  CLI::App* command = app.add_subcommand("hash-key", "Makes a line for the file of auth.apiKey.");
  command->add_option("NAME", flags.words, "The caller's name, then its scopes")->type_name("");
  command->add_flag("--new", flags.make, "Make a key too and show it on stderr; else it is read from stdin");
  command->footer(
      "Examples\n"
      "  lineward hash-key --new alice >> keys.txt\n"
      "  lineward hash-key ci-runner mcp.tools < ci.key >> keys.txt");
}

ExitCode hash_key(const HashKeyFlags& flags, std::istream& in, Screen& out, Screen& err) {
  constexpr const char* kHelp = "lineward hash-key --help";
  if (flags.words.empty() || !plugins::is_key_name(flags.words.front()))
    return bad_usage(err, "hash-key takes a name first: 1 to 64 of A-Z a-z 0-9 - _ .", kHelp);
  std::string key;
  if (flags.make) {
    key = "lw_" + random_id() + random_id();
  } else {
    std::getline(in, key);
    while (!key.empty() && (key.back() == '\r' || key.back() == ' '))
      key.pop_back();
    if (key.size() < kShortestKey || key.size() > kMaxKey) {
      return bad_usage(err,
                       fmt::format("the key on stdin must have {} to {} characters, and be made by a machine "
                                   "(openssl rand -hex 32)",
                                   kShortestKey, kMaxKey),
                       kHelp);
    }
  }
  std::string line = flags.words.front() + " " + plugins::hash_text(plugins::hash_key(key));
  for (size_t i = 1; i < flags.words.size(); ++i)
    line += " " + flags.words[i];
  if (!plugins::read_keys(line)) return bad_usage(err, "these are no scopes", kHelp);
  if (flags.make) err << "the key, shown once: " << key << "\n";
  out << line << "\n";
  return ExitCode::ok;
}

}  // namespace lineward::cli
