#include "protocol/http/answer_reader.h"

#include <catch2/catch.hpp>
#include <string>

#include "protocol/http/writer.h"

namespace lineward::http {
namespace {

struct Read {
  bool valid = true;
  AnswerParts parts;
  std::string body() const {
    std::string all;
    for (const std::string& piece : parts.pieces)
      all += piece;
    return all;
  }
};

// In pieces of that size.
Read read_answer(const std::string& text, size_t size, bool to_head_request = false) {
  Read out;
  AnswerReader reader;
  reader.begin(to_head_request);
  for (size_t at = 0; out.valid && at < text.size(); at += size)
    out.valid = reader.take(text.substr(at, size), out.parts);
  return out;
}

ResponseHead json_head(int status = 200) {
  ResponseHead head;
  head.status = status;
  head.content_type = "application/json";
  head.headers = {{"Mcp-Session-Id", "s"}};
  return head;
}

TEST_CASE("answer reader: whole answers, in pieces of any size") {
  const std::string text = full_response(json_head(), R"({"a":1})");
  for (size_t size = 1; size <= text.size(); ++size) {
    const Read read = read_answer(text, size);
    REQUIRE(read.valid);
    REQUIRE(read.parts.complete);
    REQUIRE(read.parts.heads.size() == 1);
    REQUIRE(read.parts.heads[0].status == 200);
    REQUIRE(read.body() == R"({"a":1})");
    REQUIRE(read.parts.keeps_connection);
    bool session = false;
    for (const auto& [name, value] : read.parts.heads[0].fields) {
      CHECK(name != "connection");
      session |= name == "mcp-session-id" && value == "s";
    }
    CHECK(session);
  }
}

TEST_CASE("answer reader: streams lose their chunks") {
  const std::string text = streaming_head(json_head()) + body_piece("data: 1\n\n", 1) +
                           body_piece("data: 22\n\n", 1) + body_piece(std::string(70000, 'x'), 1) +
                           body_end(1);
  for (const size_t size : {1, 2, 3, 7, 100, 65536, 1 << 20}) {
    const Read read = read_answer(text, size);
    REQUIRE(read.valid);
    CHECK(read.parts.complete);
    CHECK(read.body() == "data: 1\n\ndata: 22\n\n" + std::string(70000, 'x'));
    for (const auto& field : read.parts.heads[0].fields)
      CHECK(field.first != "transfer-encoding");
  }
}

TEST_CASE("answer reader: many chunks in one piece are read in one pass") {
  std::string text = streaming_head(json_head());
  std::string body;
  for (int i = 0; i < 20000; ++i) {
    text += body_piece("data: 1\n\n", 1);
    body += "data: 1\n\n";
  }
  text += body_end(1);
  const Read read = read_answer(text, text.size());
  REQUIRE(read.valid);
  CHECK(read.parts.complete);
  CHECK(read.body() == body);
}

TEST_CASE("answer reader: a large piece is not copied") {
  AnswerReader reader;
  AnswerParts parts;
  reader.begin(false);
  REQUIRE(reader.take(full_head(json_head(), 100000), parts));
  std::string piece(100000, 'p');
  const char* at = piece.data();
  REQUIRE(reader.take(std::move(piece), parts));
  REQUIRE(parts.pieces.size() == 1);
  CHECK(parts.pieces[0].data() == at);
  CHECK(parts.complete);
}

TEST_CASE("answer reader: interim answers, answers without a body, and the end of a connection") {
  const std::string both = "HTTP/1.1 100 Continue\r\n\r\n" + full_response(json_head(204), "");
  const Read read = read_answer(both, 5);
  REQUIRE(read.valid);
  REQUIRE(read.parts.heads.size() == 2);
  CHECK(read.parts.heads[0].status == 100);
  CHECK(read.parts.heads[1].status == 204);
  CHECK(read.parts.complete);

  const std::string text = full_response(json_head(), "12345");
  CHECK(read_answer(text.substr(0, text.size() - 5), 1000, true).parts.complete);
  CHECK_FALSE(read_answer(text, 1000, true).valid);

  ResponseHead last = json_head();
  last.keep_alive = false;
  CHECK_FALSE(read_answer(full_response(last, "1"), 1000).parts.keeps_connection);
}

TEST_CASE("answer reader: anything else is no answer") {
  for (const std::string text :
       {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nbad line\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n12",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n123"}) {
    CHECK_FALSE(read_answer(text, 1000).valid);
  }
}

}  // namespace
}  // namespace lineward::http
