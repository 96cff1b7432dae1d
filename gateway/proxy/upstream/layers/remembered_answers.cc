#include "proxy/upstream/layers/remembered_answers.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "foundation/base/sha256.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"
#include "foundation/json/json_splice.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {
namespace {

using mcp::Message;

constexpr size_t kKeyBytes = 64;      // a digest in hexadecimal
constexpr size_t kAnswerBytes = 256;  // of an entry, beyond its answer
// The size of the lines beside answers, at most.
constexpr size_t kFrameBytes = 2048;
constexpr size_t kMaxServerBytes = 512;
constexpr size_t kMaxVersions = 16;

std::string first_line(std::string_view fingerprint) {
  return fmt::format("lineward memory 1 {}", fingerprint);
}

bool is_key(std::string_view key) {
  return key.size() == kKeyBytes && key.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string era_line(const EraVerdict& verdict, std::string_view server) {
  std::string versions;
  for (const std::string& version : verdict.versions)
    versions += (versions.empty() ? "" : ",") + json::quote(version);
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":0,"result":{{"known":{},"modern":{},"versions":[{}],"shown":{},"tools":{},"prompts":{},"resources":{},"noDiscover":{},"server":{}}}}})",
      verdict.known, verdict.era == mcp::Era::modern, versions, json::quote(verdict.server),
      verdict.tells.tools, verdict.tells.prompts, verdict.tells.resources, verdict.knows_no_discover,
      server.empty() ? "null" : server);
}

struct Described {
  EraVerdict era;
  std::string server;
};

std::optional<Described> read_era(std::string_view line) {
  auto message = Message::parse(std::string(line));
  if (!message || message->kind() != mcp::MessageKind::result) return std::nullopt;
  Described out;
  const bool whole = json::for_each_member(message->raw(mcp::Field::result),
                                           [&](const std::string& key, std::string_view raw) {
                                             const bool yes = raw == "true";
                                             if (key == "known") out.era.known = yes;
                                             if (key == "modern")
                                               out.era.era = yes ? mcp::Era::modern : mcp::Era::legacy;
                                             if (key == "versions")
                                               out.era.versions = mcp::spoken_versions(raw);
                                             if (key == "shown") out.era.server = json::string_value(raw);
                                             if (key == "tools") out.era.tells.tools = yes;
                                             if (key == "prompts") out.era.tells.prompts = yes;
                                             if (key == "resources") out.era.tells.resources = yes;
                                             if (key == "noDiscover") out.era.knows_no_discover = yes;
                                             if (key == "server" && raw != "null") out.server = raw;
                                           });
  if (!whole || out.era.versions.size() > kMaxVersions || out.server.size() > kMaxServerBytes)
    return std::nullopt;
  const bool no_modern_version = out.era.era == mcp::Era::modern && out.era.versions.empty();
  if (no_modern_version) out.era = EraVerdict();
  return out;
}

// Takes the first line; nullopt: there is no whole one.
std::optional<std::string_view> next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

const Message* RememberedAnswers::find(const std::string& key) {
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &found->second->answer;
}

bool RememberedAnswers::keep(const std::string& key, const Message& answer, uint64_t max_bytes) {
  forget(key);
  const uint64_t needed = answer.bytes().size() + kAnswerBytes;
  if (needed + kFrameBytes > max_bytes) return false;
  while (!entries_.empty() && (bytes_ + needed + kFrameBytes > max_bytes || entries_.size() >= kMaxEntries))
    drop(std::prev(entries_.end()));
  Entry& entry = entries_.emplace_front();
  entry.key = key;
  entry.answer = answer;
  entry.of_this_life = true;
  entry.held.set(needed);
  by_key_[key] = entries_.begin();
  bytes_ += needed;
  return true;
}

void RememberedAnswers::forget(const std::string& key) {
  auto found = by_key_.find(key);
  if (found != by_key_.end()) drop(found->second);
}

void RememberedAnswers::drop(Entries::iterator entry) {
  bytes_ -= entry->held.mine();
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void RememberedAnswers::clear() {
  while (!entries_.empty())
    drop(entries_.begin());
  era_ = EraVerdict();
  server_.clear();
  server_held_.set(0);
}

void RememberedAnswers::forget_last_life() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    auto next = std::next(entry);
    if (!entry->of_this_life) drop(entry);
    entry = next;
  }
}

bool RememberedAnswers::keep_era(const EraVerdict& verdict) {
  const bool is_short = verdict.server.size() <= kMaxServerBytes && verdict.versions.size() <= kMaxVersions;
  if (!verdict.known || verdict.is_weak() || !is_short) return false;
  const bool is_same = era_.known && era_.era == verdict.era && era_.versions == verdict.versions &&
                       era_.server == verdict.server;
  era_ = verdict;
  era_.failure = {};
  return !is_same;
}

bool RememberedAnswers::keep_server(std::string_view implementation) {
  if (implementation.empty() || implementation.size() > kMaxServerBytes) return false;
  std::string now = json::compact(implementation);
  const bool is_other = !server_.empty() && server_ != now;
  server_ = std::move(now);
  server_held_.set(server_.size());
  return is_other;
}

// ---- the file ----

std::string RememberedAnswers::text(std::string_view fingerprint) const {
  std::string out = first_line(fingerprint) + "\n" + era_line(era_, server_) + "\n";
  out.reserve(bytes_ + kFrameBytes);
  for (const Entry& entry : entries_) {
    std::string answer = entry.answer.bytes();
    json::flatten_lines(answer);
    out += entry.key + "\n" + answer + "\n";
  }
  return out + "end " + sha256_hex(out) + "\n";
}

Status<> RememberedAnswers::read(std::string_view text, std::string_view fingerprint, uint64_t max_bytes) {
  const std::string_view all = text;
  if (next_line(text) != first_line(fingerprint))
    return fail(std::string("it is of another command, variable, program or version"));
  const auto described_line = next_line(text);
  auto described = described_line ? read_era(*described_line) : std::nullopt;
  if (!described) return fail(std::string("its second line is broken"));
  std::vector<std::pair<std::string_view, Message>> read;
  for (;;) {
    const std::string_view before = all.substr(0, all.size() - text.size());
    const auto key = next_line(text);
    if (key && key->starts_with("end ")) {
      if (!text.empty() || key->substr(4) != sha256_hex(before))
        return fail(std::string("its last line does not fit the others"));
      break;
    }
    const auto line = key && is_key(*key) ? next_line(text) : std::nullopt;
    if (!line || read.size() >= kMaxEntries) return fail(std::string("it is cut, or has too many answers"));
    auto message = Message::parse(std::string(*line));
    const bool is_answer = message && (message->kind() == mcp::MessageKind::result ||
                                       message->kind() == mcp::MessageKind::error);
    if (!is_answer) return fail(std::string("one of its answers is broken"));
    read.emplace_back(*key, std::move(*message));
  }
  for (auto one = read.rbegin(); one != read.rend(); ++one)
    keep(std::string(one->first), one->second, max_bytes);
  for (Entry& entry : entries_)
    entry.of_this_life = false;
  era_ = std::move(described->era);
  keep_server(described->server);
  return Done{};
}

}  // namespace lineward::upstream
