#include "protocol/http/header_list.h"

#include <cstring>

namespace lineward::http {
std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool same_letters(const char* a, const char* b, size_t size) {
  if (size == 0 || std::memcmp(a, b, size) == 0) return true;  // nearly always, when they are equal at all
  for (size_t i = 0; i < size; ++i) {
    if (a[i] == b[i]) continue;
    const char letter = static_cast<char>(a[i] | 0x20);
    if ((a[i] ^ b[i]) != 0x20 || letter < 'a' || letter > 'z') return false;
  }
  return true;
}

void spaces_for_tabs(std::string& head) {
  const auto is_space = [&](size_t at) { return head[at] == ' ' || head[at] == '\t'; };
  for (size_t tab = head.find('\t'); tab != std::string::npos; tab = head.find('\t', tab)) {
    const size_t end = head.find('\r', tab);
    const size_t colon = head.find(':', head.rfind('\n', tab) + 1);
    for (size_t at = colon + 1; at < end && is_space(at); ++at)
      head[at] = ' ';
    for (size_t at = end; at > colon + 1 && is_space(at - 1); --at)
      head[at - 1] = ' ';
    tab = end;
  }
}

void HeaderList::add(std::string_view name, std::string_view value) {
  fields_.push_back({name, value});
  const size_t number = FieldName(name).number;
  if (number == known_.size()) return;
  Known& known = known_[number];
  if (known.count++ == 0) known.first = static_cast<uint32_t>(fields_.size());
}

void HeaderList::set(std::string_view name, std::string_view value) {
  const Header* field = find(name);
  if (field == nullptr) return add(name, value);
  fields_[static_cast<size_t>(field - fields_.data())].value = value;
}

const Header* HeaderList::search(std::string_view name) const {
  for (const Header& field : fields_) {
    if (equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

size_t HeaderList::tally(std::string_view name) const {
  size_t found = 0;
  for (const Header& field : fields_)
    found += equals_ignoring_case(field.name, name) ? 1 : 0;
  return found;
}

bool list_has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    std::string_view element = list.substr(0, list.find(','));
    list.remove_prefix(element.size() == list.size() ? list.size() : element.size() + 1);
    if (equals_ignoring_case(trim_white_space(element.substr(0, element.find(';'))), token)) return true;
  }
  return false;
}

bool named_by_connection(const HeaderList& headers, std::string_view name) {
  for (const auto& header : headers.all()) {
    if (equals_ignoring_case(header.name, "Connection") && list_has_token(header.value, name)) return true;
  }
  return false;
}

}  // namespace lineward::http
