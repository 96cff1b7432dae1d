#include "protocol/http/stream_answer.h"

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>
#include <utility>

#include "protocol/http/response_gate.h"

namespace lineward::http {
namespace {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
constexpr size_t kMost = 1000;

StreamAnswer answer_of(Fields fields) {
  StreamAnswer answer;
  for (const auto& [name, value] : fields)
    answer.add(name, value, kMost);
  return answer;
}

std::string text_of(Fields fields) {
  auto text = answer_of(fields).text();
  return text ? *text : "fault: " + text.error().text;
}

TEST_CASE("stream answer: becomes the head of HTTP/1.1 with the same meaning") {
  const std::string text = text_of({{":status", "200"}, {"content-type", "a/b"}, {"content-length", "3"}});
  CHECK(text == "HTTP/1.1 200 \r\ncontent-type: a/b\r\ncontent-length: 3\r\n\r\n");
  CHECK(check_response_head(text, {}));
  CHECK_FALSE(answer_of({{":status", "200"}}).is_interim());
  CHECK(answer_of({{":status", "103"}}).is_interim());
}

TEST_CASE("stream answer: what would be another response in HTTP/1.1 is refused") {
  for (const Fields fields :
       {Fields{{":status", "200"}, {"x", "a\r\nb: c"}},
        Fields{{":status", "200"}, {"x", std::string_view("a\0b", 3)}},
        Fields{{":status", "200"}, {"a b", "c"}}, Fields{{":status", "200"}, {"", "c"}},
        Fields{{":status", "200"}, {"transfer-encoding", "chunked"}},
        Fields{{":status", "200"}, {"connection", "close"}}, Fields{{":status", "200"}, {":status", "200"}},
        Fields{{":status", "20"}}, Fields{{":status", "2 0"}}, Fields{{":status", "2000"}},
        Fields{{":method", "GET"}}, Fields{{"x", "y"}}})
    CHECK(text_of(fields).substr(0, 6) == "fault:");
}

TEST_CASE("stream answer: a head that is too large is kept in part, and stays too large") {
  StreamAnswer answer = answer_of({{":status", "200"}});
  const std::string value(100, 'x');
  for (int i = 0; i < 1000; ++i)
    answer.add("name", value, kMost);
  CHECK(answer.size() > 1000 * 100);
  const auto text = answer.text();
  REQUIRE(text);
  CHECK(text->size() > kMost);
  CHECK(text->size() < 2 * kMost);
}

}  // namespace
}  // namespace lineward::http
