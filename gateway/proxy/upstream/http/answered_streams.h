// Streams of calls that were answered: what a legacy server sends there between the answer and the end of the
// stream is read on, for a moment and within a limit, since what names no call belongs to the session. The
// call is over and waits for none of it.
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
  // Of one stream: how long it is read on, how many bytes of messages and how many messages.
  static constexpr std::chrono::milliseconds kTime{1000};
  static constexpr size_t kBytes = 1024 * 1024;
  static constexpr size_t kMessages = 256;
  // Of one server; what comes on streams beyond these is dropped.
  static constexpr size_t kStreams = 64;

  explicit AnsweredStreams(const HttpParts& parts);
  ~AnsweredStreams();
  AnsweredStreams(const AnsweredStreams&) = delete;
  AnsweredStreams& operator=(const AnsweredStreams&) = delete;

  // Of a call of that group, which has a session.
  void take(std::unique_ptr<HttpMessages> messages, const SessionGroup& group);
  // All end now.
  void stop();

 private:
  class Stream;
  void heard(const Stream& stream, mcp::Message&& message);
  void over(Stream& stream);

  const HttpParts parts_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace lineward::upstream
