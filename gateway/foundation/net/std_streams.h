// This process's stdin and stdout as one byte stream, of any file type. Pipes, sockets and terminals are read
// and written without blocking, on the loop. Files that cannot be polled (regular files, /dev/null) are read
// a piece per turn and written at once.
//
// The descriptors stay open; the destructor restores blocking mode, which other processes may share.
// Callbacks as in foundation/net/byte_stream.h, none from inside write(). The end of the input is on_end(0);
// writes are still sent. An on_end with an error means that the input or the output is broken, and is the
// last callback. After the end of the input, a lost reader of the output is reported too, without a failing
// write.
#pragma once

#include <memory>
#include <string>

#include "foundation/net/byte_stream.h"

namespace lineward::net {

class StdStreams {
 public:
  StdStreams(Loop& loop, StreamCallbacks& owner);
  ~StdStreams();
  StdStreams(const StdStreams&) = delete;
  StdStreams& operator=(const StdStreams&) = delete;

  Status<> open(int in, int out);
  void start_reading();
  void pause_reading();
  void write(std::string bytes);
  // The input is a file, read one piece per turn: put_back() must not be used.
  bool reads_file() const { return !in_.stream; }
  // As in net/byte_stream.h.
  void put_back(std::string_view rest) {
    if (in_.stream) in_.stream->put_back(rest);
  }
  void flush_now() {
    if (out_.stream) out_.stream->flush_now();
  }
  // Bytes that the kernel has not taken yet.
  size_t backlog() const { return out_.stream ? out_.stream->backlog() : 0; }

 private:
  struct Side final : StreamCallbacks {
    StdStreams* streams = nullptr;
    std::unique_ptr<ByteStream> stream;  // null for a file
    int fd = -1;
    int flags = -1;  // flags to restore
    void on_data(std::string_view bytes) override { streams->owner_.on_data(bytes); }
    void on_end(int error) override { streams->ended(error); }
    void on_drained() override {
      if (this == &streams->out_) streams->owner_.on_drained();
    }
  };
  Status<> open(Side& side, int fd, int flags);
  void read_file();
  void end_later(int error);
  void ended(int error) {
    if (broken_ || (error == 0 && input_ended_)) return;
    (error == 0 ? input_ended_ : broken_) = true;
    pause_reading();
    if (error == 0) watch_output();
    owner_.on_end(error);
  }
  void watch_output();

  Loop& loop_;
  StreamCallbacks& owner_;
  Side in_, out_;
  Timer next_read_;
  Timer next_look_;  // at the output
  bool reading_ = false;
  bool input_ended_ = false;
  bool broken_ = false;
  Lifetime lifetime_;
};

}  // namespace lineward::net
