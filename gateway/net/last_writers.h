// Streams whose owners have left them to send what is queued, and which end then, or after a while. They have
// no other owner; no cancel of a call waits here, only its last bytes.
#pragma once

#include <chrono>
#include <map>
#include <memory>

namespace lineward::net {

class ByteStream;
class Loop;

class LastWriters {
 public:
  explicit LastWriters(Loop& loop);
  ~LastWriters();
  LastWriters(const LastWriters&) = delete;
  LastWriters& operator=(const LastWriters&) = delete;

  // The stream tells done(); `patience` ends it otherwise.
  void take(std::unique_ptr<ByteStream> stream, std::chrono::milliseconds patience);
  // Closes it, and frees it at the end of the turn.
  void done(ByteStream& stream);
  // All at once, at the end of the loop.
  void clear();

 private:
  struct Entry;
  Loop& loop_;
  std::map<ByteStream*, Entry> streams_;
};

}  // namespace lineward::net
