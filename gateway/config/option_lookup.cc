// How options are named and found; their table is in options.cc.
#include <algorithm>

#include "config/options.h"

namespace lineward::config {

bool Option::per_server() const {
  return path.substr(0, kServerPrefix.size()) == kServerPrefix;
}

bool Option::inherited() const {
  return per_server() && key().find('.') != std::string::npos;
}

std::string_view Option::leaf() const {
  return path.substr(path.rfind('.') + 1);
}

std::string Option::key() const {
  return std::string(per_server() ? path.substr(kServerPrefix.size()) : path);
}

std::string Option::env_name() const {
  if (per_server() || kind == Kind::list || kind == Kind::map || kind == Kind::names) return {};
  std::string name = "LINEWARD_";
  for (char c : path) {
    if (c >= 'A' && c <= 'Z') name += '_';
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

const Option* find_option(std::string_view path) {
  for (const Option& option : options()) {
    if (option.path == path) return &option;
  }
  return nullptr;
}

bool is_group(std::string_view path) {
  return std::any_of(options().begin(), options().end(), [path](const Option& option) {
    return option.path.size() > path.size() && option.path.substr(0, path.size()) == path &&
           option.path[path.size()] == '.';
  });
}

std::vector<std::string_view> children(std::string_view group) {
  std::vector<std::string_view> names;
  size_t skip = group.empty() ? 0 : group.size() + 1;
  for (const Option& option : options()) {
    if (!group.empty() && (option.path.size() <= skip || option.path.substr(0, skip - 1) != group ||
                           option.path[skip - 1] != '.')) {
      continue;
    }
    std::string_view name = option.path.substr(skip);
    name = name.substr(0, name.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::duration: return "duration";
    case Kind::size: return "size";
    case Kind::count: return "number";
    case Kind::flag: return "true or false";
    case Kind::text: return "text";
    case Kind::list: return "list";
    case Kind::map: return "map";
    case Kind::choice: return "choice";
    case Kind::names: return "true, false or a list of names";
  }
  return "";
}

}  // namespace lineward::config
