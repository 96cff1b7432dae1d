// Takes the answers that this program writes (protocol/http/writer.h) apart again: a head, and its body
// without framing. For streams of HTTP/2, which frame bodies themselves.
//
// Owned by one stream. No sockets, no clock, no callbacks. Its input is never a peer's: anything that the
// writer does not write fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lineward::http {

struct AnswerHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case; none of a connection's
};

struct AnswerParts {
  std::vector<AnswerHead> heads;    // interim ones first
  std::vector<std::string> pieces;  // of the body
  bool complete = false;
  bool keeps_connection = true;
};

class AnswerReader {
 public:
  // The answer to the next request.
  void begin(bool to_head_request);
  // Adds what `bytes` complete. False: they are no answer.
  bool take(std::string bytes, AnswerParts& parts);
  bool complete() const { return state_ == State::complete; }

 private:
  enum class State : uint8_t { head, length, chunk_size, chunk, chunk_end, last_line, complete };
  bool read_head(AnswerParts& parts);
  bool begin_chunk();
  void finish(AnswerParts& parts);

  State state_ = State::complete;
  bool to_head_request_ = false;
  std::string text_;   // of a head or a chunk's size, as far as it came
  uint64_t left_ = 0;  // bytes of the body or chunk
};

}  // namespace lineward::http
