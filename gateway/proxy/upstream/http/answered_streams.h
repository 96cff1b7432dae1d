// Streams of answered calls. Messages that a legacy server sends between the answer and the end of the stream
// are read for a moment and within a limit. Messages that name no call belong to the session. The call is
// over and waits for none of it.
//
// Owned by the HttpCallTable.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "protocol/mcp/message.h"
#include "proxy/upstream/http/http_messages.h"
#include "proxy/upstream/http/http_parts.h"

namespace lineward::upstream {

class SessionGroup;

class AnsweredStreams {
 public:
  // Bounds of one stream: time after the answer, bytes of messages, number of messages.
  static constexpr std::chrono::milliseconds kTime{1000};
  static constexpr size_t kBytes = 1024 * 1024;
  static constexpr size_t kMessages = 256;
  // Streams of one server; messages on streams beyond these are dropped.
  static constexpr size_t kStreams = 64;

  explicit AnsweredStreams(const HttpParts& parts);
  ~AnsweredStreams();
  AnsweredStreams(const AnsweredStreams&) = delete;
  AnsweredStreams& operator=(const AnsweredStreams&) = delete;

  // From a call of that group, which has a session.
  void take(std::unique_ptr<HttpMessages> messages, const SessionGroup& group);
  // All end now.
  void stop();

 private:
  class Stream;
  void heard(const Stream& stream, mcp::Message&& message);
  void over(Stream& stream);

  const HttpParts& parts_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace lineward::upstream
