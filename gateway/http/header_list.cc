#include "http/header_list.h"

namespace lineward::http {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

// ASCII only and free of the locale: header names and list tokens are ASCII by definition.
bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

const Header* HeaderList::find(std::string_view name) const {
  for (const Header& field : fields_) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

size_t HeaderList::count(std::string_view name) const {
  size_t found = 0;
  for (const Header& field : fields_) {
    if (equals_ignoring_case(field.name, name)) ++found;
  }
  return found;
}

std::string_view HeaderList::get(std::string_view name) const {
  const Header* field = find(name);
  return field ? field->value : std::string_view();
}

bool list_has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    std::string_view element = list.substr(0, list.find(','));
    list.remove_prefix(element.size() == list.size() ? list.size() : element.size() + 1);
    if (equals_ignoring_case(trim_white_space(element.substr(0, element.find(';'))), token)) return true;
  }
  return false;
}

std::string_view trim_white_space(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

}  // namespace lineward::http
