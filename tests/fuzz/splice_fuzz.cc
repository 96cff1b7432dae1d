// Members of any object go and come: the result is JSON, and the members that stay are spelled as before. The
// first two bytes choose what goes and how much comes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/json/json_splice.h"

using namespace lineward::json;

namespace {

struct Member {
  Span key, value;
};

bool read_members(std::string_view text, Span& object, std::vector<Member>& members) {
  Cursor cursor(text);
  if (!cursor.at_object()) return false;
  object.begin = cursor.offset();
  bool escaped = false;
  Member member;
  cursor.enter_object();
  while (cursor.next_key(member.key, escaped)) {
    if (!cursor.skip(member.value)) return false;
    members.push_back(member);
  }
  object.end = cursor.offset();
  return cursor.done() && cursor.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint8_t gone = data[0], added = data[1] % 3;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  Span object;
  std::vector<Member> members;
  if (!read_members(text, object, members)) return 0;

  std::vector<std::pair<std::string_view, std::string_view>> expected(added, {"k", "[1.0]"});
  Splice splice(text);
  for (uint8_t i = 0; i < added; ++i)
    splice.add_member(object, "k", "[1.0]");
  for (size_t i = members.size(); i-- > 0;) {
    if (gone >> (i % 8) & 1) splice.remove_member(object, members[i].key, members[i].value);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (!(gone >> (i % 8) & 1)) expected.emplace_back(members[i].key.in(text), members[i].value.in(text));
  }

  std::string out = splice.apply();
  Span out_object;
  std::vector<Member> left;
  LW_CHECK(read_members(out, out_object, left) && left.size() == expected.size());
  for (size_t i = 0; i < left.size(); ++i) {
    LW_CHECK(left[i].key.in(out) == expected[i].first && left[i].value.in(out) == expected[i].second);
  }
  LW_CHECK(out.substr(0, object.begin + 1) == text.substr(0, object.begin + 1));
  flatten_lines(out);
  LW_CHECK(validate(out) == Fault::none && out.find_first_of("\r\n") == std::string::npos);
  return 0;
}
