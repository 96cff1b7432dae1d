#include "protocol/http/head_reader.h"

#include <llhttp.h>

#include <optional>
#include <string>
#include <utility>

#include "protocol/http/char_class.h"
#include "protocol/http/head_gate.h"

namespace lineward::http {

namespace {

struct Reading {
  RequestHead* head = nullptr;
  std::string_view name;
  std::string_view value;
  bool complete = false;
};

Reading& reading(llhttp_t* parser) {
  return *static_cast<Reading*>(parser->data);
}

int on_method(llhttp_t* parser, const char* at, size_t size) noexcept {
  reading(parser).head->method = {at, size};
  return 0;
}

int on_url(llhttp_t* parser, const char* at, size_t size) noexcept {
  reading(parser).head->target = {at, size};
  return 0;
}

int on_header_field(llhttp_t* parser, const char* at, size_t size) noexcept {
  reading(parser).name = {at, size};
  return 0;
}

int on_header_value(llhttp_t* parser, const char* at, size_t size) noexcept {
  reading(parser).value = {at, size};
  return 0;
}

// Empty values get no on_header_value, but always this callback.
int on_header_value_complete(llhttp_t* parser) noexcept {
  Reading& now = reading(parser);
  now.head->headers.add(now.name, trim_white_space(now.value));
  now.name = {};
  now.value = {};
  return 0;
}

// llhttp stops here for good: Lineward reads the body (see ChunkDecoder). This also disables `Upgrade`, after
// which llhttp would leave HTTP: Java clients send `Upgrade: h2c` on ordinary POSTs.
int on_headers_complete(llhttp_t* parser) noexcept {
  parser->upgrade = 0;
  reading(parser).complete = true;
  return HPE_PAUSED;
}

const llhttp_settings_t& settings() {
  static const llhttp_settings_t all = [] {
    llhttp_settings_t made;
    llhttp_settings_init(&made);
    made.on_method = on_method;
    made.on_url = on_url;
    made.on_header_field = on_header_field;
    made.on_header_value = on_header_value;
    made.on_header_value_complete = on_header_value_complete;
    made.on_headers_complete = on_headers_complete;
    return made;
  }();
  return all;
}

bool is_known_method(std::string_view method) {
#define LW_IS_METHOD(number, name, string) \
  if (method == #string) return true;
  HTTP_METHOD_MAP(LW_IS_METHOD)
#undef LW_IS_METHOD
  return false;
}

// `close` takes precedence in any position; HTTP/1.0 stays open only on request.
bool asks_to_keep_alive(const RequestHead& head) {
  bool keep_alive = head.minor_version == 1;
  for (const Header& field : head.headers.all()) {
    if (!equals_ignoring_case(field.name, "Connection")) continue;
    if (list_has_token(field.value, "close")) return false;
    if (list_has_token(field.value, "keep-alive")) keep_alive = true;
  }
  return keep_alive;
}

Unexpected<Error> refuse_head(int status, std::string text) {
  return {Error{.text = std::move(text), .code = status}};
}

}  // namespace

Result<BodyFraming> read_head(std::string_view block, RequestHead& head) {
  if (!is_known_method(block.substr(0, block.find(' '))))
    return refuse_head(501, "The method is not known here.");

  Reading now;
  now.head = &head;
  llhttp_t parser;
  llhttp_init(&parser, HTTP_REQUEST, &settings());
  parser.data = &now;
  llhttp_errno_t error = llhttp_execute(&parser, block.data(), block.size());
  if (error != HPE_PAUSED || !now.complete) {
    const char* reason = llhttp_get_error_reason(&parser);
    return refuse_head(
        400, std::string("The request head is not valid HTTP: ") + (reason ? reason : "no reason") + ".");
  }

  BodyFraming framing;
  framing.chunked = head.headers.find("Transfer-Encoding") != nullptr;
  framing.length = decimal_value(head.headers.get("Content-Length"));
  bool same_framing = framing.chunked == ((parser.flags & F_CHUNKED) != 0) &&
                      (framing.chunked || framing.length == parser.content_length);
  if (!same_framing || parser.http_major != 1 || parser.http_minor > 1) {
    return refuse_head(400, "The end of the request body is not clear.");
  }
  head.minor_version = parser.http_minor;
  // RFC 9112 3.2.2: the host of a URL overrides Host.
  std::optional<Target> target = split_target(head.target);
  if (!target) return refuse_head(400, "The request target is not clear.");
  head.target = target->local;
  if (!target->authority.empty()) head.headers.set("Host", target->authority);
  head.path = head.target.substr(0, head.target.find('?'));
  head.keep_alive = asks_to_keep_alive(head);
  bool has_body = framing.chunked || framing.length > 0;
  head.expect_continue = has_body && head.minor_version == 1 && head.headers.find("Expect") != nullptr;
  return framing;
}

}  // namespace lineward::http
