#include "http/header_list.h"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace lineward::http {

bool same_letters(const char* a, const char* b, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (a[i] == b[i]) continue;
    const char letter = static_cast<char>(a[i] | 0x20);
    if ((a[i] ^ b[i]) != 0x20 || letter < 'a' || letter > 'z') return false;
  }
  return true;
}

template <class F>
void HeaderList::for_each(std::string_view name, F&& visit) const {
  const auto length = static_cast<uint8_t>(name.size() < 255 ? name.size() : 255);
  uint32_t candidates = 0;
#ifdef __SSE2__
  const __m128i lengths = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lengths_.data()));
  candidates = static_cast<uint32_t>(
      _mm_movemask_epi8(_mm_cmpeq_epi8(lengths, _mm_set1_epi8(static_cast<char>(length)))));
#else
  for (size_t i = 0; i < kQuick; ++i)
    candidates |= static_cast<uint32_t>(lengths_[i] == length) << i;
#endif
  for (; candidates != 0; candidates &= candidates - 1) {
    const size_t at = static_cast<size_t>(std::countr_zero(candidates));
    if (at >= fields_.size()) break;  // an empty name
    if (equals_ignoring_case(fields_[at].name, name) && !visit(fields_[at])) return;
  }
  for (size_t i = kQuick; i < fields_.size(); ++i) {
    if (equals_ignoring_case(fields_[i].name, name) && !visit(fields_[i])) return;
  }
}

const Header* HeaderList::find(std::string_view name) const {
  const Header* found = nullptr;
  for_each(name, [&](const Header& field) {
    found = &field;
    return false;
  });
  return found;
}

size_t HeaderList::count(std::string_view name) const {
  size_t found = 0;
  for_each(name, [&](const Header&) {
    ++found;
    return true;
  });
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

}  // namespace lineward::http
