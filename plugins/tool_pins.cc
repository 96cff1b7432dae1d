#include "plugins/tool_pins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/json_member.h"

namespace lineward::plugins {
namespace {

constexpr size_t kMostDigests = 20000;
constexpr size_t kMostFileBytes = 8 << 20;
constexpr size_t kLongestName = 256;
constexpr int kDeepest = 64;  // every level is scanned again

// One text for each meaning; strings with their length, so that nothing can be mistaken for anything else.
bool canonical(std::string_view value, std::string& out) {
  auto put_string = [&](const std::string& text) { out += fmt::format("s{}:", text.size()) += text; };
  if (value.empty()) return false;
  if (value.front() == '{') {
    std::map<std::string, std::string_view> members;
    bool once = true;
    json::Cursor cursor(value, kDeepest);
    json::Span key, member;
    bool escaped = false;
    if (!cursor.enter_object()) return false;
    while (cursor.next_key(key, escaped)) {
      std::string name = json::unescape_exact(key.in(value));
      if (!cursor.skip(member)) return false;
      once = members.emplace(std::move(name), member.in(value)).second && once;
    }
    if (!cursor.done() || !once) return false;
    out += fmt::format("o{}:", members.size());
    for (const auto& [name, raw] : members) {
      put_string(name);
      if (!canonical(raw, out)) return false;
    }
    return true;
  }
  if (value.front() == '[') {
    json::Cursor cursor(value, kDeepest);
    json::Span element;
    if (!cursor.enter_array()) return false;
    out += 'a';
    while (cursor.next_element() && cursor.skip(element)) {
      out += ',';
      if (!canonical(element.in(value), out)) return false;
    }
    out += ';';
    return cursor.done();
  }
  if (value.front() == '"') {
    put_string(json::unescape_exact(value.substr(1, value.size() - 2)));
  } else {
    out += fmt::format("v{};", value);
  }
  return true;
}

std::string errno_text() {
  return std::strerror(errno);
}

}  // namespace

std::string definition_digest(std::string_view json) {
  std::string text;
  if (!canonical(json, text)) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out = "sha256:";
  for (unsigned char byte : digest)
    out += fmt::format("{:02x}", byte);
  return out;
}

const ToolPins::Tool* ToolPins::find(std::string_view server, std::string_view name) const {
  auto tools = servers_.find(server);
  if (tools == servers_.end()) return nullptr;
  auto tool = tools->second.find(name);
  return tool == tools->second.end() ? nullptr : &tool->second;
}

ToolPins::Tool* ToolPins::find(std::string_view server, std::string_view name) {
  return const_cast<Tool*>(std::as_const(*this).find(server, name));
}

ToolPins::Finding ToolPins::check(std::string_view server, std::string_view revision, const std::string& name,
                                  std::string_view definition) {
  Tool* tool = find(server, name);
  std::string digest = definition_digest(definition);
  if (digest.empty()) {
    if (tool != nullptr) tool->changed = true;
    return Finding::ambiguous;
  }
  if (tool != nullptr) {
    auto known = tool->digests.find(revision);
    if (known != tool->digests.end()) {
      // For good: that it looks as before again, or in another revision, does not make it trustworthy.
      if (known->second != digest) tool->changed = true;
      return tool->changed ? Finding::changed : Finding::same;
    }
    if (tool->changed) return Finding::changed;
  }
  if (mode_ == Mode::enforce) return Finding::unknown;
  if (count_ >= kMostDigests || name.size() > kLongestName) return Finding::full;
  servers_[std::string(server)][name].digests.emplace(std::string(revision), std::move(digest));
  ++count_;
  unsaved_ = true;
  return Finding::learnt;
}

bool ToolPins::may_call(std::string_view server, const std::string& name) const {
  const Tool* tool = find(server, name);
  return tool == nullptr ? mode_ == Mode::learn : !tool->changed;
}

Status<> ToolPins::load() {
  int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT && mode_ == Mode::learn) return Done{};
    return fail(fmt::format("cannot read {}: {}", path_, errno_text()));
  }
  std::string text;
  std::array<char, 65536> buffer{};
  ssize_t got = 0;
  while ((got = ::read(fd, buffer.data(), buffer.size())) > 0 && text.size() <= kMostFileBytes)
    text.append(buffer.data(), static_cast<size_t>(got));
  ::close(fd);
  if (got < 0) return fail(fmt::format("cannot read {}: {}", path_, errno_text()));
  if (text.size() > kMostFileBytes)
    return fail(fmt::format("{} is larger than {} MiB", path_, kMostFileBytes >> 20));
  std::map<std::string, Tools, std::less<>> servers;
  size_t count = 0;
  auto read = parse(text, servers, count);
  if (!read) return read;
  for (auto& [server, tools] : servers_) {  // what was seen to change stays so, until somebody edits its pin
    for (auto& [name, tool] : tools) {
      auto others = servers.find(server);
      if (!tool.changed || others == servers.end()) continue;
      auto other = others->second.find(name);
      if (other != others->second.end() && other->second.digests == tool.digests)
        other->second.changed = true;
    }
  }
  servers_ = std::move(servers);
  count_ = count;
  unsaved_ = false;
  return Done{};
}

// {"servers": {"github": {"search": {"2026-07-28": "sha256:…"}}}}
Status<> ToolPins::parse(const std::string& text, std::map<std::string, Tools, std::less<>>& out,
                         size_t& count) const {
  auto wrong = [&] { return fail(fmt::format("{} is no file of pinned tools", path_)); };
  if (json::validate(text) != json::Fault::none) return wrong();
  auto servers = json::member(text, "servers");
  if (!servers) return wrong();
  bool fine = json::for_each_member(*servers, [&](const std::string& server, std::string_view tools) {
    json::for_each_member(tools, [&](const std::string& name, std::string_view digests) {
      json::for_each_member(digests, [&](const std::string& revision, std::string_view digest) {
        out[server][name].digests.insert_or_assign(revision, json::string_value(digest));
        ++count;
      });
    });
  });
  if (!fine || count > kMostDigests) return wrong();
  return Done{};
}

std::string ToolPins::text() const {
  std::string out = "{\n  \"servers\": {";
  std::string_view server_comma;
  for (const auto& [server, tools] : servers_) {
    out += fmt::format("{}\n    {}: {{", server_comma, json::quote(server));
    std::string_view tool_comma;
    for (const auto& [name, tool] : tools) {
      out += fmt::format("{}\n      {}: {{", tool_comma, json::quote(name));
      std::string_view comma;
      for (const auto& [revision, digest] : tool.digests) {
        out += fmt::format("{} {}: {}", comma, json::quote(revision), json::quote(digest));
        comma = ",";
      }
      out += " }";
      tool_comma = ",";
    }
    out += "\n    }";
    server_comma = ",";
  }
  return out + "\n  }\n}\n";
}

Status<> ToolPins::save() {
  unsaved_ = false;
  std::string next = fmt::format("{}.{}.next", path_, ::getpid());
  int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(fmt::format("cannot write {}: {}", next, errno_text()));
  std::string all = text();
  size_t done = 0;
  while (done < all.size()) {
    ssize_t put = ::write(fd, all.data() + done, all.size() - done);
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  bool fine = done == all.size() && ::fsync(fd) == 0;
  std::string why = fine ? std::string() : errno_text();
  ::close(fd);
  if (fine && ::rename(next.c_str(), path_.c_str()) == 0) return Done{};
  if (why.empty()) why = errno_text();
  ::unlink(next.c_str());
  return fail(fmt::format("cannot write {}: {}", path_, why));
}

}  // namespace lineward::plugins
