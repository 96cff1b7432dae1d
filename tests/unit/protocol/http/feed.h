// A RequestParser's result for bytes, in any parts.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/http/request_parser.h"
#include "unit/protocol/http/in_parts.h"

namespace lineward::http {

struct SeenRequest {
  std::string method;
  std::string target;
  std::string path;
  int minor_version = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  bool keep_alive = false;
  bool expect_continue = false;
  uint64_t announced = 0;
  bool complete = false;
  std::string body;

  bool operator==(const SeenRequest&) const = default;
};

struct Outcome {
  std::vector<SeenRequest> requests;  // the last one may be without its body
  int status = 0;                     // of the fault, or 0
  std::string text;
  RequestParser::Phase phase = RequestParser::Phase::idle;
  size_t buffered = 0;

  bool operator==(const Outcome&) const = default;
  bool failed() const { return phase == RequestParser::Phase::failed; }
  bool first_complete() const { return !requests.empty() && requests[0].complete; }
};

inline SeenRequest seen(const RequestHead& head) {
  SeenRequest request;
  request.method = head.method;
  request.target = head.target;
  request.path = head.path;
  request.minor_version = head.minor_version;
  for (const Header& field : head.headers.all())
    request.headers.emplace_back(field.name, field.value);
  request.keep_alive = head.keep_alive;
  request.expect_continue = head.expect_continue;
  request.announced = head.body_bytes;
  return request;
}

// Reads on until the parser wants more bytes.
inline void read_on(RequestParser& parser, Outcome& outcome) {
  while (true) {
    switch (parser.next()) {
      case RequestParser::Next::head: outcome.requests.push_back(seen(parser.head())); break;
      case RequestParser::Next::complete: {
        // The head must still be the same after the body came.
        SeenRequest again = seen(parser.head());
        if (!(again == outcome.requests.back())) outcome.text = "the head changed under its body";
        outcome.requests.back().complete = true;
        outcome.requests.back().body = parser.take_body();
        if (again.announced != UINT64_MAX && again.announced != outcome.requests.back().body.size())
          outcome.text = "a body of another length than was announced";
        parser.next_request();
        if (parser.buffered() == 0) return;
        break;
      }
      case RequestParser::Next::failed:
        outcome.status = parser.fault().code;
        outcome.text = parser.fault().text;
        return;
      case RequestParser::Next::need_more: return;
    }
  }
}

inline void pump(RequestParser& parser, Outcome& outcome) {
  read_on(parser, outcome);
  outcome.phase = parser.phase();
  outcome.buffered = parser.buffered();
}

inline Outcome feed_parts(const std::vector<std::string_view>& parts, const RequestLimits& limits) {
  return in_parts<RequestParser, Outcome>(parts, limits);
}

// Long ones are not cut in two.
inline Outcome feed(std::string_view bytes, const RequestLimits& limits = {}) {
  INFO("input: " << std::string(bytes.substr(0, 300)));
  std::vector<size_t> cuts;
  for (size_t cut = 1; cut < bytes.size() && bytes.size() <= 600; ++cut)
    cuts.push_back(cut);
  return in_any_parts<RequestParser, Outcome>(bytes, limits, cuts);
}

// The status of the fault when these bytes end in one before any request is complete, 0 when the first
// request is complete, -1 when more bytes are wanted.
inline int verdict(std::string_view bytes, const RequestLimits& limits = {}) {
  Outcome outcome = feed(bytes, limits);
  if (outcome.first_complete()) return 0;
  return outcome.failed() ? outcome.status : -1;
}

}  // namespace lineward::http
