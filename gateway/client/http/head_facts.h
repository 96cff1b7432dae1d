// What follows from a request's head, whatever its body says. Most clients repeat their heads byte by byte
// (http::RequestHead::number), so a connection keeps it for as long as they do.
//
// Nothing of it may depend on what a reload changes, but for what goes by the number of the front's paths.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "client/http/admission.h"
#include "client/http/forwarding.h"
#include "core/headers.h"
#include "http/request_parser.h"

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
  bool fit_to_post = false;  // check_post_headers() has nothing to say against it
  Accepts takes;
  bool through_proxy = false;  // its connection says nothing of who asks
  std::optional<std::chrono::milliseconds> wait;

  // PeerRouter's: another replica passed this request. Its connection is no client's then. Of each request
  // by itself: what tells it never stands in two heads.
  bool passed_by_peer = false;

  // These are PathRouter's.
  uint64_t paths = 0;                   // of which paths they are; 0: of none yet
  const std::string* server = nullptr;  // the one that its path leads to; null: something else is asked for
  size_t worker = 0;                    // PathTable::owner_of
  struct Forwarded {
    Mirrored mirrored = Mirrored::no;
    core::SharedFields fields;
  };
  std::optional<Forwarded> forwarded;  // what of the head goes on to `server`, as it was asked for last
};

}  // namespace lineward::client
