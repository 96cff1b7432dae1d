#include "protocol/http/writer.h"

#include <catch2/catch.hpp>
#include <string>

#include "unit/protocol/http/event_text.h"

using namespace lineward::http;

namespace {

ResponseHead response(int status, bool keep_alive = true, int minor_version = 1) {
  ResponseHead head;
  head.status = status;
  head.keep_alive = keep_alive;
  head.minor_version = minor_version;
  return head;
}

}  // namespace

TEST_CASE("a full response") {
  ResponseHead head = response(200);
  head.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  CHECK(full_response(head, "{}") ==
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Empty: \r\nContent-Length: 2\r\n\r\n{}");
  // As nearly all are, and what differs from them in one thing.
  head.headers = {{"X", "y"}};
  head.content_type = "application/json";
  CHECK(full_response(head, std::string(1234, 'x')) ==
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX: y\r\nContent-Length: 1234\r\n\r\n" +
            std::string(1234, 'x'));
  head.status = 429;
  CHECK(full_response(head, "{}") ==
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nX: y\r\nContent-Length: "
        "2\r\n\r\n{}");
  head.status = 200;
  head.content_type = "text/plain";
  CHECK(full_response(head, "") ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX: y\r\nContent-Length: 0\r\n\r\n");
  CHECK(full_response(response(202), "") == "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
  CHECK(full_response(response(204), "ignored") == "HTTP/1.1 204 No Content\r\n\r\n");
  CHECK(full_response(response(304), "ignored") == "HTTP/1.1 304 Not Modified\r\n\r\n");
  CHECK(full_response(response(100, false), "") == "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_CASE("the end of the connection is announced") {
  CHECK(full_response(response(400, false), "x") ==
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  CHECK(full_response(response(200, true, 0), "x") ==
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx");
  CHECK(full_response(response(200, false, 0), "x") ==
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
}

TEST_CASE("a response in pieces") {
  CHECK(streaming_head(response(200)) == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(streaming_head(response(200, false)) ==
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  // HTTP/1.0 knows no chunks: the body ends with the connection, whatever was asked for.
  CHECK(streaming_head(response(200, true, 0)) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  CHECK(body_piece("0123456789abcdef!", 1) == "11\r\n0123456789abcdef!\r\n");
  CHECK(body_piece("abc", 0) == "abc");
  CHECK(body_piece("", 1).empty());
  CHECK(body_end(1) == "0\r\n\r\n");
  CHECK(body_end(0).empty());
}

TEST_CASE("nothing from outside breaks a head") {
  ResponseHead head = response(200);
  head.headers = {{"X", std::string("a\r\nSet-Cookie: b\0c\x7f\td", 22)},
                  {"Bad Name", "x"},
                  {"Bad:\r\nName", "x"},
                  {"", "x"},
                  {"content-length", "99"},
                  {"TRANSFER-ENCODING", "chunked"},
                  {"Connection", "upgrade"},
                  {"X-Latin", "caf\xc3\xa9"}};
  CHECK(full_response(head, "") ==
        "HTTP/1.1 200 OK\r\nX: aSet-Cookie: bc\td\r\nX-Latin: caf\xc3\xa9\r\nContent-Length: 0\r\n\r\n");
  CHECK(full_response(response(0), "") == full_response(response(502), ""));
  CHECK(full_response(response(99), "") == full_response(response(502), ""));
  CHECK(full_response(response(1000), "") == full_response(response(502), ""));
}

TEST_CASE("reasons") {
  for (int status : {100, 200, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 413,
                     414, 415, 417, 421, 429, 431, 499, 500, 501, 502, 503, 504, 505}) {
    INFO(status);
    CHECK(reason_phrase(status) != "Unknown");
    CHECK_FALSE(reason_phrase(status).empty());
  }
  CHECK(reason_phrase(418) == "Unknown");
}

TEST_CASE("long data of an event is not copied, and framed all the same") {
  for (const size_t size : {size_t{1}, kOwnPiece - 1, kOwnPiece, 3 * kOwnPiece}) {
    const std::string data(size, 'x');
    for (const char* id : {"", "7"}) {
      const EventPieces event = sse_event(data, id, 1);
      CHECK(event.data.size() == (size < kOwnPiece ? 0 : size));
      CHECK(event.before + event.data + std::string(event.after) == body_piece(event_text(data, id), 1));
    }
  }
  std::string broken(kOwnPiece, 'x');
  broken[kOwnPiece / 2] = '\n';
  CHECK(event_text(broken).find('\n') == kOwnPiece + std::string("data: ").size());
}

TEST_CASE("a head announces the body that follows it") {
  ResponseHead head;
  head.content_type = "application/json";
  CHECK(full_head(head, 2) + "{}" == full_response(head, "{}"));
}

TEST_CASE("server-sent events") {
  CHECK(event_text("{\"a\":1}") == "data: {\"a\":1}\n\n");
  CHECK(event_text("{}", "7") == "id: 7\ndata: {}\n\n");
  CHECK(event_text("{\r\n \"a\":\n1\r}") == "data: {   \"a\": 1 }\n\n");
  CHECK(event_text(std::string("a\0b", 3), "1\n\rdata: x") == "id: 1data: x\ndata: a b\n\n");
  CHECK(event_text("") == "data: \n\n");
  CHECK(sse_comment() == ":\n\n");
  CHECK(sse_prime("x") == "id: x\ndata: \n\n");
  CHECK(sse_prime("x", 0) == "id: x\nretry: 0\ndata: \n\n");
  CHECK(sse_prime("x", 3000) == "id: x\nretry: 3000\ndata: \n\n");
}
