#include "protocol/http/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "foundation/base/string_pool.h"
#include "protocol/http/char_class.h"
#include "protocol/http/header_list.h"

namespace lineward::http {

namespace {

enum class Framing { none, length, chunked };

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

// The writer sets framing and Connection: a second, different copy would allow request smuggling.
bool is_owned_by_writer(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") || equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

template <size_t base = 10>
void append_number(std::string& out, size_t number) {
  char digits[24];
  char* const end = digits + sizeof digits;
  char* at = end;
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  out.append(at, end);
}

void append_head(std::string& out, const ResponseHead& head, int status, Framing framing, size_t body_size,
                 bool keep_alive) {
  if (status == 200 && head.content_type == "application/json") {  // nearly all
    out += "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  } else {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<size_t>(status));
    out += ' ';
    out += reason_phrase(status);
    out += "\r\n";
    if (!head.content_type.empty()) {
      out += "Content-Type: ";
      out += head.content_type;
      out += "\r\n";
    }
  }
  for (const OutHeader& header : head.headers) {
    if (!is_owned_by_writer(header.name)) append_field(out, header.name, header.value);
  }
  if (framing == Framing::length) append_length(out, body_size);
  if (framing == Framing::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (status >= 200) {  // an interim response does not affect the connection
    if (!keep_alive) {
      out += "Connection: close\r\n";
    } else if (head.minor_version == 0) {
      out += "Connection: keep-alive\r\n";
    }
  }
  out += "\r\n";
}

// Statuses from upstreams may be out of range.
int checked_status(int status) {
  return status >= 100 && status <= 599 ? status : 502;
}

// A line of an event stream: line ends and NUL become spaces.
// Each byte is searched for separately: find_first_of() would call memchr for every letter of the text.
void flatten(std::string& text, size_t from) {
  const char* const end = text.data() + text.size();
  if (text.size() - from < kOwnPiece && find_control(text.data() + from, end) == end) return;  // nearly all
  for (const char bad : {'\n', '\r', '\0'}) {
    for (size_t at = text.find(bad, from); at != std::string::npos; at = text.find(bad, at + 1))
      text[at] = ' ';
  }
}

// An id with a line break would become another id: such bytes are dropped.
void append_id(std::string& out, std::string_view id) {
  if (id.empty()) return;
  out += "id: ";
  std::copy_if(id.begin(), id.end(), std::back_inserter(out), [](char c) { return !is_control(c); });
  out += '\n';
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

void append_field(std::string& head, std::string_view name, std::string_view value) {
  if (!is_token(name)) return;
  head += name;
  head += ": ";
  const char* end = value.data() + value.size();
  for (const char* at = value.data(); at != end;) {
    const char* stop = find_control(at, end);
    head.append(at, stop);
    at = stop;
    if (at != end && *at++ == '\t') head += '\t';
  }
  head += "\r\n";
}

void append_length(std::string& head, size_t body_size) {
  constexpr std::string_view kName = "Content-Length: ";
  char line[kName.size() + 24];
  kName.copy(line, kName.size());
  char* end = std::to_chars(line + kName.size(), line + sizeof line - 2, body_size).ptr;
  *end++ = '\r';
  *end++ = '\n';
  head.append(line, end);
}

std::string full_head(const ResponseHead& head, size_t body_size) {
  const int status = checked_status(head.status);
  std::string out = StringPool::take(256);
  append_head(out, head, status, has_no_body(status) ? Framing::none : Framing::length, body_size,
              head.keep_alive);
  return out;
}

std::string full_response(const ResponseHead& head, std::string_view body) {
  int status = checked_status(head.status);
  if (has_no_body(status)) body = {};
  std::string out = StringPool::take(256 + body.size());
  append_head(out, head, status, has_no_body(status) ? Framing::none : Framing::length, body.size(),
              head.keep_alive);
  out += body;
  return out;
}

std::string streaming_head(const ResponseHead& head) {
  int status = checked_status(head.status);
  std::string out;
  bool chunked = head.minor_version != 0;
  append_head(out, head, status, chunked && !has_no_body(status) ? Framing::chunked : Framing::none, 0,
              chunked && head.keep_alive);
  return out;
}

std::string body_piece(std::string_view piece, int minor_version) {
  if (piece.empty()) return {};  // a chunk of size 0 would end the body
  if (minor_version == 0) return std::string(piece);
  std::string out;
  out.reserve(piece.size() + 20);
  append_number<16>(out, piece.size());
  out += "\r\n";
  out += piece;
  out += "\r\n";
  return out;
}

std::string body_end(int minor_version) {
  return minor_version == 0 ? std::string() : std::string("0\r\n\r\n");
}

EventPieces sse_event(std::string data, std::string_view id, int minor_version) {
  constexpr std::string_view kName = "data: ";
  constexpr std::string_view kEnd = "\n\n";
  const bool chunked = minor_version != 0;
  flatten(data, 0);
  std::string id_line;
  append_id(id_line, id);
  const std::string_view after = chunked ? "\n\n\r\n" : kEnd;
  const bool apart = data.size() >= kOwnPiece;
  EventPieces out;
  out.before =
      StringPool::take(id_line.size() + kName.size() + 24 + (apart ? 0 : data.size() + after.size()));
  if (chunked) {
    append_number<16>(out.before, id_line.size() + kName.size() + data.size() + kEnd.size());
    out.before += "\r\n";
  }
  out.before += id_line;
  out.before += kName;
  if (apart) {
    out.data = std::move(data);
    out.after = after;
  } else {
    out.before += data;
    out.before += after;
    StringPool::give(std::move(data));
  }
  return out;
}

std::string sse_comment() {
  return ":\n\n";
}

std::string sse_prime(std::string_view id, int retry_ms) {
  std::string out;
  append_id(out, id);
  if (retry_ms >= 0) fmt::format_to(std::back_inserter(out), "retry: {}\n", retry_ms);
  out += "data: \n\n";
  return out;
}

}  // namespace lineward::http
