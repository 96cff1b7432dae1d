#include "plugins/tools/tool_pins.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "foundation/base/regular_file.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_scan.h"

namespace lineward::plugins {
namespace {

constexpr size_t kMaxDigests = 20000;
constexpr size_t kMaxFileBytes = 8 << 20;
constexpr size_t kMaxName = 256;
constexpr int kDeepest = 64;
constexpr size_t kMaxValues = 100000;  // in one definition; the index takes up to 64 bytes for each

// Canonical text: equal values give equal texts. Strings have their length, so that no text has two meanings.
// Members are sorted by name, so one pass builds an index of all values, and another one writes.
class Canonical {
 public:
  explicit Canonical(std::string_view text) : text_(text), cursor_(text, kDeepest) {
    good_ = read() && cursor_.finish();
  }

  // Empty for a duplicate key, or if the text is broken or too large.
  std::string text() const {
    std::string out;
    if (good_) write(0, out);
    return out;
  }

 private:
  struct Value {
    json::Span at;                                          // of a scalar
    char kind = 'v';                                        // o, a, s, v
    std::vector<std::pair<std::string, uint32_t>> members;  // name and index, sorted; for an array without
                                                            // names
  };

  bool read() {
    if (values_.size() == kMaxValues) return false;
    const auto own = static_cast<uint32_t>(values_.size());
    values_.emplace_back();
    Value value;
    bool fine = true;
    if (cursor_.at_object()) {
      value.kind = 'o';
      if (!cursor_.enter_object()) return false;
      json::Span key;
      bool escaped = false;
      while (fine && cursor_.next_key(key, escaped)) {
        value.members.emplace_back(json::unescape_exact(key.in(text_)),
                                   static_cast<uint32_t>(values_.size()));
        fine = read();
      }
      fine = fine && cursor_.done();
      std::sort(value.members.begin(), value.members.end());
      auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
      fine =
          fine && std::adjacent_find(value.members.begin(), value.members.end(), same) == value.members.end();
    } else if (cursor_.at_array()) {
      value.kind = 'a';
      if (!cursor_.enter_array()) return false;
      while (fine && cursor_.next_element()) {
        value.members.emplace_back(std::string(), static_cast<uint32_t>(values_.size()));
        fine = read();
      }
      fine = fine && cursor_.done();
    } else {
      fine = cursor_.skip(value.at);
      if (fine && text_[value.at.begin] == '"') value.kind = 's';
    }
    values_[own] = std::move(value);
    return fine;
  }

  void write(uint32_t index, std::string& out) const {
    auto put_string = [&](const std::string& text) {
      out += fmt::format("s{}:", text.size());
      out += text;
    };
    const Value& value = values_[index];
    switch (value.kind) {
      case 'o':
        out += fmt::format("o{}:", value.members.size());
        for (const auto& [name, member] : value.members) {
          put_string(name);
          write(member, out);
        }
        break;
      case 'a':
        out += 'a';
        for (const auto& [name, element] : value.members) {
          out += ',';
          write(element, out);
        }
        out += ';';
        break;
      case 's':
        put_string(json::unescape_exact(text_.substr(value.at.begin + 1, value.at.size() - 2)));
        break;
      default: out += fmt::format("v{};", value.at.in(text_)); break;
    }
  }

  std::string_view text_;
  json::Cursor cursor_;
  std::vector<Value> values_;
  bool good_ = false;
};

std::string errno_text() {
  return std::strerror(errno);
}

// Keeps other processes from writing a file of this directory between our reading and writing of it. A
// process that holds it for long is not waited for.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    fd_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int tries = 0; fd_ >= 0 && tries < kTries && ::flock(fd_, LOCK_EX | LOCK_NB) != 0; ++tries)
      std::this_thread::sleep_for(kPause);
  }
  ~DirectoryLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  static constexpr int kTries = 10;
  static constexpr std::chrono::milliseconds kPause{2};
  int fd_ = -1;
};

}  // namespace

std::string definition_digest(std::string_view json) {
  const std::string text = Canonical(json).text();
  if (text.empty()) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out = "sha256:";
  for (unsigned char byte : digest)
    out += fmt::format("{:02x}", byte);
  return out;
}

std::shared_ptr<ToolPins> ToolPins::of(const std::string& path, Mode mode) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::pair<std::string, Mode>, std::weak_ptr<ToolPins>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(*all, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<ToolPins>& known = (*all)[{path, mode}];
  auto pins = known.lock();
  if (!pins) known = pins = std::make_shared<ToolPins>(path, mode);
  return pins;
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
  std::string digest = definition_digest(definition);
  std::lock_guard<std::mutex> lock(mutex_);
  Tool* tool = find(server, name);
  if (digest.empty()) {
    if (tool != nullptr) tool->changed = true;
    return Finding::ambiguous;
  }
  if (tool != nullptr) {
    auto known = tool->digests.find(revision);
    if (known != tool->digests.end()) {
      // Permanent: a tool that returns to its old definition, or has another revision, stays untrusted.
      if (known->second != digest) tool->changed = true;
      return tool->changed ? Finding::changed : Finding::same;
    }
    if (tool->changed) return Finding::changed;
  }
  if (mode_ == Mode::enforce) return Finding::unknown;
  if (count_ >= kMaxDigests || name.size() > kMaxName) return Finding::full;
  Tool& learnt = servers_[std::string(server)][name];
  learnt.digests.emplace(std::string(revision), std::move(digest));
  learnt.unsaved = true;
  ++count_;
  unsaved_ = true;
  return Finding::learnt;
}

bool ToolPins::may_call(std::string_view server, const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const Tool* tool = find(server, name);
  return tool == nullptr ? mode_ == Mode::learn : !tool->changed;
}

Status<> ToolPins::load() {
  std::lock_guard<std::mutex> lock(file_mutex_);
  return read_file();
}

Status<> ToolPins::read_file() {
  auto text = read_regular_file(path_, kMaxFileBytes);
  if (!text) {
    if (errno == ENOENT && mode_ == Mode::learn) return Done{};
    return fail(fmt::format("cannot read {}: {}", path_, text.error().text));
  }
  std::map<std::string, Tools, std::less<>> servers;
  size_t count = 0;
  auto read = parse(*text, servers, count);
  if (!read) return read;
  take_in(std::move(servers), count);
  return Done{};
}

// A detected change stays until its pin is edited.
void ToolPins::take_in(std::map<std::string, Tools, std::less<>> servers, size_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [server, tools] : servers_) {
    for (auto& [name, tool] : tools) {
      if (tool.unsaved && count + tool.digests.size() <= kMaxDigests) {
        Tool& kept = servers[server][name];
        const size_t before = kept.digests.size();
        kept.digests.insert(tool.digests.begin(), tool.digests.end());
        count += kept.digests.size() - before;
        kept.unsaved = kept.digests.size() > before;
      }
      auto others = servers.find(server);
      if (!tool.changed || others == servers.end()) continue;
      auto other = others->second.find(name);
      if (other == others->second.end()) continue;
      const auto& digests = other->second.digests;
      other->second.changed = std::all_of(tool.digests.begin(), tool.digests.end(), [&](const auto& one) {
        auto found = digests.find(one.first);
        return found != digests.end() && found->second == one.second;
      });
    }
  }
  servers_ = std::move(servers);
  count_ = count;
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
  if (!fine || count > kMaxDigests) return wrong();
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
  std::lock_guard<std::mutex> file_lock(file_mutex_);
  if (!unsaved()) return Done{};  // another worker has written it
  const DirectoryLock others(path_);
  if (auto read = read_file(); !read) return read;
  std::string all;
  std::vector<std::pair<std::string, std::string>> written;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    unsaved_ = false;
    all = text();
    for (auto& [server, tools] : servers_) {
      for (auto& [name, tool] : tools) {
        if (std::exchange(tool.unsaved, false)) written.emplace_back(server, name);
      }
    }
  }
  auto done = write_file(all);
  if (done) return done;
  std::lock_guard<std::mutex> lock(mutex_);
  unsaved_ = true;
  for (const auto& [server, name] : written) {
    if (Tool* tool = find(server, name)) tool->unsaved = true;
  }
  return done;
}

Status<> ToolPins::write_file(const std::string& all) {
  std::string next = fmt::format("{}.{}.next", path_, ::getpid());
  int fd = ::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(fmt::format("cannot write {}: {}", next, errno_text()));
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
