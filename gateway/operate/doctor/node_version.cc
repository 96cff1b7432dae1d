#include "operate/doctor/node_version.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "foundation/json/json_document.h"
#include "foundation/log/sanitize.h"
#include "operate/doctor/program_file.h"
#include "operate/doctor/trial_process.h"
#include "operate/fetch/redactor.h"

namespace lineward::doctor {
namespace {

using fetch::Redactor;
namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds kAskVersion{5};
constexpr int kMaxParents = 8;
constexpr uintmax_t kMaxManifest = 1 << 20;

struct Version {
  std::array<int, 3> parts{};
  int given = 0;  // number of numeric parts
};

Version parse_version(std::string_view text) {
  Version version;
  if (!text.empty() && (text[0] == 'v' || text[0] == '=')) text.remove_prefix(1);
  while (version.given < 3 && !text.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) break;
    version.parts[static_cast<size_t>(version.given++)] = number;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() || text[0] != '.') break;
    text.remove_prefix(1);
  }
  return version;
}

// The first version that is too new for "18", "18.17": the last given number plus one.
std::array<int, 3> next_after(const Version& wanted, int kept) {
  std::array<int, 3> next = wanted.parts;
  ++next[static_cast<size_t>(kept - 1)];
  for (int i = kept; i < 3; ++i)
    next[static_cast<size_t>(i)] = 0;
  return next;
}

bool comparator_fits(const std::array<int, 3>& have, std::string_view word) {
  std::string_view sign = word.substr(0, std::min(word.find_first_not_of("<>=^~"), word.size()));
  const Version wanted = parse_version(word.substr(sign.size()));
  if (wanted.given == 0) return true;  // "*", "x" and unknown syntax
  if (sign == ">=") return have >= wanted.parts;
  if (sign == ">") return wanted.given < 3 ? have >= next_after(wanted, wanted.given) : have > wanted.parts;
  if (sign == "<") return have < wanted.parts;
  if (sign == "<=") return wanted.given < 3 ? have < next_after(wanted, wanted.given) : have <= wanted.parts;
  const int kept = sign == "^" ? 1 : sign == "~" ? std::min(wanted.given, 2) : wanted.given;
  return have >= wanted.parts && have < next_after(wanted, kept);
}

bool is_node(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  return name == "node" || name == "nodejs" || name.rfind("node-", 0) == 0;
}

// The script that Node runs: the first argument that is a file, or the program itself if it is a script.
std::string script_of(const config::Server& server, const std::string& file) {
  std::error_code error;
  if (is_node(file)) {
    for (const std::string& arg : server.args) {
      if (arg.empty() || arg[0] == '-') continue;
      const fs::path path = arg[0] == '/' || server.cwd.empty() ? fs::path(arg) : fs::path(server.cwd) / arg;
      return fs::exists(path, error) ? fs::canonical(path, error).string() : std::string();
    }
    return {};
  }
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line.rfind("#!", 0) == 0 && line.find("node") != std::string::npos
             ? fs::canonical(file, error).string()
             : std::string();
}

struct Wanted {
  std::string range, manifest;
};
Wanted wanted_by(const std::string& script) {
  fs::path folder = fs::path(script).parent_path();
  for (int i = 0; i < kMaxParents && !folder.empty(); ++i, folder = folder.parent_path()) {
    const fs::path manifest = folder / "package.json";
    std::error_code error;
    const uintmax_t size = fs::file_size(manifest, error);
    if (!error && size <= kMaxManifest) {
      std::ifstream stream(manifest);
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      const json said = lineward::json::parse_document(text);
      if (said.is_object() && said.contains("name")) {
        auto engines = said.find("engines");
        if (engines == said.end() || !engines->is_object()) return {};
        auto node = engines->find("node");
        return node != engines->end() && node->is_string()
                   ? Wanted{node->get<std::string>(), manifest.string()}
                   : Wanted{};
      }
    }
    if (folder == folder.parent_path()) break;
  }
  return {};
}

std::string version_of(const std::string& node, config::Server server) {
  server.command = node;
  server.args = {"--version"};
  server.cwd.clear();
  TrialProcess process(server);
  const auto until = Clock::now() + kAskVersion;
  std::string line;
  if (!process.start(until) || process.next(line, until) != TrialProcess::Next::line) return {};
  return line;
}

}  // namespace

bool version_fits(std::string_view version, std::string_view range) {
  const Version have = parse_version(version);
  if (have.given == 0) return true;
  for (size_t begin = 0; begin <= range.size();) {
    const size_t bars = std::min(range.find("||", begin), range.size());
    std::string_view all = range.substr(begin, bars - begin);
    begin = bars + 2;
    bool fits = true;
    std::string_view sign;  // the operator of ">= 18", which may be separated from its version
    for (size_t at = 0; at < all.size();) {
      const size_t from = all.find_first_not_of(' ', at);
      if (from == std::string_view::npos) break;
      const size_t to = std::min(all.find(' ', from), all.size());
      const std::string_view word = all.substr(from, to - from);
      at = to;
      if (word == "-") return true;  // "18 - 20": rare, not parsed
      if (word.find_first_not_of("<>=^~") == std::string_view::npos) {
        sign = word;
        continue;
      }
      fits = fits && comparator_fits(have.parts, std::string(sign) + std::string(word));
      sign = {};
    }
    if (fits) return true;
  }
  return false;
}

void check_node(const config::Server& server, const std::string& file,
                const std::vector<std::string>& environment, Findings& findings) {
  const std::string script = script_of(server, file);
  if (script.empty()) return;
  const Wanted wanted = wanted_by(script);
  if (wanted.range.empty()) return;
  const std::string node = is_node(file) ? file : found_in("node", variable_of(environment, "PATH"));
  const std::string version = node.empty() ? std::string() : version_of(node, server);
  if (version.empty()) return;
  const std::string text = fmt::format("Node {} at {}, the server wants {}", Redactor(server)(version, 30),
                                       sanitize(node), sanitize(wanted.range, 60));
  if (version_fits(version, wanted.range)) {
    findings.ok("node", text);
  } else {
    findings.error("node", text,
                   fmt::format("install Node {}, and name it as command or put it first into PATH",
                               sanitize(wanted.range, 60)),
                   sanitize(wanted.manifest, 400));
  }
}

}  // namespace lineward::doctor
