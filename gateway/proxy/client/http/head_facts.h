// Facts that follow from a request's head alone. Most clients repeat their heads byte by byte
// (http::RequestHead::number), so a connection keeps the facts while the head stays the same.
//
// No fact may depend on what a reload changes, except those keyed by the number of the front's paths.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "protocol/http/request_parser.h"
#include "proxy/client/http/admission.h"
#include "proxy/client/http/forwarding.h"
#include "proxy/core/headers.h"

namespace lineward::client {

struct HeadFacts {
  HeadFacts() = default;
  explicit HeadFacts(const http::RequestHead& head)
      : number(head.number),
        fit_to_post(!check_post_headers(head.headers)),
        takes(accepts(head.headers)),
        through_proxy(came_through_proxy(head.headers)),
        wait(preferred_wait(head.headers)) {}

  uint64_t number = 0;       // of the head
  bool fit_to_post = false;  // check_post_headers() accepts it
  Accepts takes;
  bool through_proxy = false;  // the connection does not identify the caller
  std::optional<std::chrono::milliseconds> wait;

  // Set by PeerRouter: another replica forwarded this request, so the connection is not a client's. Set for
  // each request separately: the mark never repeats in two heads.
  bool passed_by_peer = false;

  // Set by PathRouter.
  uint64_t paths = 0;                   // the number of the paths they are of; 0: none yet
  const std::string* server = nullptr;  // at this path; null: not an MCP endpoint
  size_t worker = 0;                    // PathTable::owner_of
  struct Forwarded {
    Mirrored mirrored = Mirrored::no;
    core::SharedFields fields;
  };
  std::optional<Forwarded> forwarded;  // headers forwarded to `server`, as computed last
};

}  // namespace lineward::client
