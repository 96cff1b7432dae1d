#include "config/reader/include.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "config/options/read_value.h"
#include "config/reader/secrets.h"
#include "config/reader/variables.h"
#include "foundation/base/file_limit.h"
#include "foundation/base/glob.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxDirectoryEntries = 10000;  // of one directory

struct Glob {
  std::string directory, name;
};

Glob split_glob(const std::string& glob, const std::string& base) {
  const std::string path = resolve_path(glob, base);
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string join_path(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory == "." ? name : directory + "/" + name;
}

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

// `glob`: the last part of one.
bool matches(std::string_view glob, std::string_view name) {
  if (name.empty() || (name[0] == '.' && glob.substr(0, 1) != ".")) return false;
  return glob_match(glob, name);
}

struct Listing {
  std::vector<std::string> names;
  std::vector<std::string> of_main;  // those that match and lead to the configuration itself
  int error = 0;
  bool too_many = false;
};

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

void list_into(const Glob& glob, const std::string& main, Listing& out) {
  DIR* open = ::opendir(glob.directory.c_str());
  if (open == nullptr) {
    out.error = errno;
    return;
  }
  size_t entries = 0;
  while (const dirent* entry = ::readdir(open)) {
    if (++entries > kMaxDirectoryEntries) {
      out.too_many = true;
      break;
    }
    out.names.emplace_back(entry->d_name);
  }
  ::closedir(open);
  if (main.empty() || out.too_many) return;
  for (const std::string& name : out.names) {
    if (matches(glob.name, name) && is_same_file(join_path(glob.directory, name), main))
      out.of_main.push_back(name);
  }
}

// A directory of a file system that does not answer has an error too, as one with a file of such a system.
Listing list_directory(const Glob& glob, const std::string& main) {
  auto out = std::make_shared<Listing>();
  if (!within_file_limit(glob.directory, [=] { list_into(glob, main, *out); }))
    return {{}, {}, ETIMEDOUT, false};
  return std::move(*out);
}

Diagnostic at(const Node* node, std::string code, std::string message) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.origin = "include";
  if (node == nullptr) return diagnostic;
  diagnostic.line = node->line;
  diagnostic.column = node->column;
  diagnostic.length = node->length;
  return diagnostic;
}

class Finder {
 public:
  Finder(const Member* option, std::string base, std::string main, const FileTexts& texts)
      : option_(option), base_(std::move(base)), main_(std::move(main)), texts_(texts) {}

  void take(const std::vector<std::string>& globs) {
    if (globs.size() > kMaxIncludes)
      return fault(nullptr, "too-many", fmt::format("include has more than {} globs", kMaxIncludes));
    for (size_t i = 0; i < globs.size() && paths_.size() <= kMaxIncludedFiles && !is_late_; ++i)
      take(globs[i], node_of(i));
    if (is_late_) return;
    if (paths_.size() > kMaxIncludedFiles)
      return fault(nullptr, "too-many", fmt::format("include names more than {} files", kMaxIncludedFiles));
    for (const std::string& path : paths_) {
      if (!read(path)) return;
    }
  }
  Included included;

 private:
  const Node* node_of(size_t i) const {
    if (option_ == nullptr) return nullptr;
    const Node& value = option_->value;
    return i < value.items.size() ? &value.items[i] : &value;
  }
  void fault(const Node* node, std::string code, std::string message) {
    included.diagnostics.push_back(at(node == nullptr && option_ != nullptr ? &option_->value : node,
                                      std::move(code), std::move(message)));
  }

  void take(const std::string& written, const Node* node) {
    const Glob glob = split_glob(written, base_);
    if (glob.name.empty() || has_wildcard(glob.directory) || glob.name.find('[') != std::string::npos) {
      fault(node, "bad-value", fmt::format("'{}' is no glob of files", clip(written)));
      included.diagnostics.back().hint = "* and ? in the name alone: servers.d/*.yaml";
      return;
    }
    auto& directories = included.directories;
    if (std::find(directories.begin(), directories.end(), glob.directory) == directories.end())
      directories.push_back(glob.directory);
    Listing listing = list_directory(glob, main_);
    if (listing.too_many)
      return fault(node, "too-many",
                   fmt::format("{} has more than {} entries", clip(glob.directory), kMaxDirectoryEntries));
    is_late_ = listing.error == ETIMEDOUT;
    if (listing.error != 0 && listing.error != ENOENT)
      return fault(node, "cannot-read",
                   fmt::format("cannot list {}: {}", clip(glob.directory), std::strerror(listing.error)));
    std::set<std::string> names(listing.names.begin(), listing.names.end());
    const std::set<std::string> of_main(listing.of_main.begin(), listing.of_main.end());
    for (const auto& [path, text] : texts_) {
      const size_t slash = path.rfind('/');
      const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
      if (path != join_path(glob.directory, name)) continue;
      text ? void(names.insert(name)) : void(names.erase(name));
    }
    for (const std::string& name : names) {
      const std::string path = join_path(glob.directory, name);
      if (!matches(glob.name, name) || path == main_ || of_main.count(name) > 0) continue;
      if (seen_.insert(path).second) paths_.push_back(path);
    }
  }

  Result<std::string> text_of(const std::string& path) const {
    const auto given = texts_.find(path);
    if (given != texts_.end() && given->second) return *given->second;
    return read_small_file(path, kMaxDocumentBytes + 1);
  }

  // False: too much of it all, or a file system that does not answer. The next files may be there too, and
  // each would be waited for.
  bool read(const std::string& path) {
    IncludedFile file;
    file.path = path;
    Result<std::string> text = text_of(path);
    if (!text) {
      Diagnostic diagnostic = at(nullptr, "cannot-read", fmt::format("cannot read {}", text.error().text));
      diagnostic.origin = path;
      included.diagnostics.push_back(std::move(diagnostic));
      return text.error().code != ETIMEDOUT;
    }
    bytes_ += text->size();
    if (bytes_ > kMaxIncludedBytes) {
      fault(nullptr, "too-large",
            fmt::format("the files of include have more than {} MiB together", kMaxIncludedBytes >> 20));
      return false;
    }
    file.text = std::move(*text);
    file.is_own = is_own_file(path, file.text);
    file.document = parse_document(file.text, syntax_of(path, file.text));
    file.secrets = file.document.parsed ? find_secrets(file.document.root) : guess_secrets(file.text);
    for (Diagnostic& diagnostic : file.document.diagnostics) {
      diagnostic.file = path;
      included.diagnostics.push_back(diagnostic);
    }
    included.files.push_back(std::move(file));
    return true;
  }

  const Member* option_;
  const std::string base_, main_;
  const FileTexts& texts_;
  std::vector<std::string> paths_;
  std::set<std::string> seen_;
  size_t bytes_ = 0;
  bool is_late_ = false;  // a directory's file system does not answer
};

}  // namespace

bool is_own_file(std::string_view path, std::string_view text) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name == kOwnFile && text.substr(0, text.find('\n')) == kOwnHeading;
}

std::optional<std::string> own_file_of(const std::vector<std::string>& globs, const std::string& directory) {
  for (const std::string& written : globs) {
    const Glob glob = split_glob(written, directory);
    if (has_wildcard(glob.directory) || !matches(glob.name, kOwnFile)) continue;
    return join_path(glob.directory, std::string(kOwnFile));
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const std::string& included, const std::vector<std::string>& globs,
                                  const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& written : globs) {
    Glob glob = split_glob(written, directory);
    if (glob.directory == included) names.push_back(std::move(glob.name));
  }
  return names;
}

bool is_included(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [name](const std::string& glob) { return matches(glob, name); });
}

Included read_included(const std::vector<std::string>& globs, const Member* option,
                       const std::string& directory, const std::string& main, const FileTexts& texts) {
  Finder finder(option, directory, main, texts);
  finder.take(globs);
  return std::move(finder.included);
}

}  // namespace lineward::config
