// Streams without an owner that still send their queued bytes, then close, at the latest after their
// patience. Cancelled calls do not wait here, only their last bytes.
#pragma once

#include <chrono>
#include <map>
#include <memory>

namespace lineward::net {

class ByteStream;
class Loop;

class EndOfTurnFlush {
 public:
  explicit EndOfTurnFlush(Loop& loop);
  ~EndOfTurnFlush();
  EndOfTurnFlush(const EndOfTurnFlush&) = delete;
  EndOfTurnFlush& operator=(const EndOfTurnFlush&) = delete;

  // The stream calls done() when it has sent its bytes; otherwise `patience` ends it.
  void take(std::unique_ptr<ByteStream> stream, std::chrono::milliseconds patience);
  // Closes the stream and frees it at the end of the turn.
  void done(ByteStream& stream);
  // Closes all streams, when the loop ends.
  void clear();

 private:
  struct Entry;
  Loop& loop_;
  std::map<ByteStream*, Entry> streams_;
};

}  // namespace lineward::net
