// A stream of an HTTP/2 connection: one request and its answer. Owned by its connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "protocol/http/answer_reader.h"
#include "protocol/http/stream_head.h"
#include "protocol/http2/body_queue.h"
#include "proxy/client/http2/stream_end.h"

namespace lineward::client {

struct Http2Stream {
  explicit Http2Stream(int32_t its_id) : id(its_id) {}

  const int32_t id;
  std::unique_ptr<http::StreamHead> head = std::make_unique<http::StreamHead>();  // null: it was given
  size_t path = 0;                                                                // a digest
  http::AnswerReader answer;
  StreamEnd* end = nullptr;                  // null: none yet, or it is gone
  http2::BodyQueue body;                     // of the answer
  std::chrono::milliseconds progress_at{0};  // when the client last took something, or had nothing to take
  bool too_slow = false;                     // it is being cut for taking nothing
  size_t untaken = 0;            // bytes of the body that the client is not told to go on behind yet
  bool is_chunked = false;       // the request's body, in HTTP/1.1
  bool has_body = false;         // the whole request came
  bool answering = false;        // the head of the answer is sent, or about to be
  bool sent = false;             // to its end
  bool closed = false;           // in the library, which knows it no more
  bool keeps_connection = true;  // its end may serve another stream
};

}  // namespace lineward::client
