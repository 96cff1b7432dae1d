// Serialises heads, bodies and events. External values are checked: no CR, LF or NUL passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lineward::http {

struct OutHeader {
  std::string name;
  std::string value;
};

struct ResponseHead {
  int status = 200;
  std::string_view content_type;  // never from external input; empty: none
  std::vector<OutHeader> headers;
  bool keep_alive = true;
  int minor_version = 1;  // of the request; 1.0 gets no chunked coding
};

std::string_view reason_phrase(int status);

// Appends a header line, or nothing if `name` is invalid; control bytes of the value are removed.
void append_field(std::string& head, std::string_view name, std::string_view value);
// The line that frames a body.
void append_length(std::string& head, size_t body_size);

// Bodies and data from this size on are written as pieces of their own: copying them costs more.
inline constexpr size_t kOwnPiece = 16 * 1024;

// The head of a response with a whole body of this size, which follows it (no body for 204 and 304).
std::string full_head(const ResponseHead& head, size_t body_size);
// A response with its whole body: head with Content-Length (none for 204 and 304), then the body.
std::string full_response(const ResponseHead& head, std::string_view body);

// The head of a response with a body in pieces: Transfer-Encoding: chunked on HTTP/1.1; on HTTP/1.0 the body
// ends with the connection.
std::string streaming_head(const ResponseHead& head);
// A framed piece of such a body. `minor_version` as above. An empty piece returns an empty string.
std::string body_piece(std::string_view piece, int minor_version);
std::string body_end(int minor_version);

// A server-sent event with a one-line JSON message as data. Raw line breaks (only white space in valid JSON)
// become spaces. `id` is written when not empty. WHATWG HTML "server-sent events".
// Framed as body_piece() frames. The parts are written one after the other: long data is not copied. A short
// event is `before` alone.
struct EventPieces {
  std::string before;
  std::string data;
  std::string_view after;
};
EventPieces sse_event(std::string data, std::string_view id, int minor_version);
// A comment: prevents intermediaries from closing a quiet stream.
std::string sse_comment();
// An event with an id and no data (priming; 2025-11-25 streamable HTTP, resumability), with `retry:` when >=
// 0.
std::string sse_prime(std::string_view id, int retry_ms = -1);

}  // namespace lineward::http
