// A connected byte stream: a TCP or Unix socket, or one end of a pipe. Reads push into its owner; writes are
// queued, gathered and sent once per loop turn.
//
// Owned by exactly one object, which is its StreamOwner. No callback comes from inside write(), none after
// close(), and the owner may destroy the stream from inside any callback.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/held_bytes.h"
#include "base/result.h"
#include "net/handle.h"
#include "net/loop.h"
#include "net/piece_queue.h"

namespace lineward::net {

class StreamOwner {
 public:
  virtual void on_data(std::string_view bytes) = 0;
  // The other side has ended: error is 0 for an orderly end, else a negative errno. Comes once; no data after
  // it.
  virtual void on_end(int error) = 0;
  // All queued bytes went to the kernel.
  virtual void on_drained() {}

 protected:
  ~StreamOwner() = default;
};

class ByteStream {
 public:
  // Takes the descriptor (closed on failure too).
  static Result<std::unique_ptr<ByteStream>> from_pipe(Loop& loop, int fd);
  // Takes a connected handle.
  static std::unique_ptr<ByteStream> from_handle(Loop& loop, Handle<uv_tcp_t> handle);
  static std::unique_ptr<ByteStream> from_handle(Loop& loop, Handle<uv_pipe_t> handle);
  // A connected socket, TCP or Unix; takes the descriptor (closed on failure too).
  static Result<std::unique_ptr<ByteStream>> from_socket(Loop& loop, int fd);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  void set_owner(StreamOwner* owner) { owner_ = owner; }
  void start_reading();
  void pause_reading();
  bool reading() const { return reading_; }
  // From on_data(): `rest`, the end of what was given, is given again in the next turn, before anything else;
  // until then nothing is read, and no end is seen. An owner that has taken as much as one peer may have in a
  // turn leaves the others theirs. May be empty.
  void put_back(std::string_view rest);
  bool holds_back() const { return rest_ != nullptr; }

  void write(std::string bytes) {
    if (bytes.empty() || closed() || ending_writes_ || shut_) return;
    backlog_ += bytes.size();
    queue_.push(std::move(bytes));
    schedule_flush();
  }
  // Offers what is queued to the kernel at once rather than at the end of the turn. Never calls back.
  void flush_now();
  // Whom the bytes that wait here count for.
  void charge(const AccountPtr& account) { backlog_.charge(account); }
  // Bytes not yet taken by the kernel.
  size_t backlog() const;
  // Bytes the kernel took, or may have taken, since the beginning.
  uint64_t sent() const { return sent_; }

  // Sends what is queued, then tells the other side that no more will come. Reading goes on.
  void end_writes() {
    ending_writes_ = true;
    schedule_flush();
  }
  // Ends the stream at once; queued bytes are lost.
  void close();
  // Sends what is queued, then closes; gives up after `patience`. No more callbacks from here on.
  static void close_after_writes(std::unique_ptr<ByteStream> stream, milliseconds patience) {
    if (!stream || stream->closed() || (stream->backlog_ == 0 && !stream->writing_)) return;
    stream->owner_ = nullptr;
    stream->pause_reading();
    stream->last_bytes_ = true;
    LastWriters& others = stream->loop_.last_writers_;
    others.take(std::move(stream), patience);
  }
  bool closed() const { return !pipe_ && !tcp_; }
  // Takes the socket off this loop, to go on on another: its descriptor, and the stream is closed. -1 where
  // that cannot be: something is still to be written, it has ended, or descriptors are out.
  int detach();
  // Nothing waits to be read, no end and no error either: looks into the kernel's buffer of a socket.
  bool quiet() const;
  // Whether the machine at the other end is gone without a word: for nine times `quiet` it has acknowledged
  // nothing (net/peer_silence.h). Once this was called it is also asked while nothing is sent; on_end() tells
  // of that.
  bool peer_is_silent(milliseconds quiet);
  // The port of a TCP socket's own end; 0 for other streams.
  uint16_t local_port() const;
  // Who is at the other end of a Unix socket (SO_PEERCRED); nothing for other streams.
  std::optional<uint32_t> peer_uid() const;

 private:
  friend class Listener;
  struct WriteRequest;
  struct Rest;
  explicit ByteStream(Loop& loop);
  uv_stream_t* raw() const { return tcp_ ? tcp_.stream() : pipe_.stream(); }
  int socket();
  int watch();
  void ready(int status, int events);
  void receive();
  void read_pipe(std::string_view bytes, bool full);
  int read_on();
  void give_rest();
  int try_send();
  void drop_queue() {
    queue_.clear();
    gone_ = 0;
    backlog_ = 0;
  }
  void flush();
  // May be the end of this.
  void all_sent() {
    if (last_bytes_) return loop_.last_writers_.done(*this);
    if (ending_writes_) {
      shut();
      ending_writes_ = false;
      shut_ = true;
    }
    if (owner_) owner_->on_drained();
  }
  void shut();
  void schedule_flush() {
    if (!writing_) flush_later_.schedule();
  }
  void written(WriteRequest* request, int status);
  void ended(int error);

  Loop& loop_;
  Handle<uv_pipe_t> pipe_;
  Handle<uv_tcp_t> tcp_;
  // A TCP socket is watched, read and written by its descriptor: libuv takes read(2), which asks the file
  // system first. The handle above only owns it.
  Handle<uv_poll_t> poll_;
  int socket_ = -1;
  int watched_ = 0;  // for which events
  StreamOwner* owner_ = nullptr;
  PieceQueue queue_;
  size_t gone_ = 0;  // of its first piece, what was sent
  HeldCount backlog_{Held::queues};
  size_t writing_bytes_ = 0;  // of these, what libuv has; of a TCP socket nothing
  uint64_t sent_ = 0;
  bool reading_ = false;
  bool ended_ = false;
  bool writing_ = false;  // a uv_write is under way, or the socket takes no more for now
  Deferred flush_later_;
  bool ending_writes_ = false;
  bool shut_ = false;
  bool asks_when_quiet_ = false;
  uint64_t full_reads_turn_ = 0;  // of a pipe: in this turn so many reads have filled the buffer
  int full_reads_ = 0;
  std::unique_ptr<Rest> rest_;  // what was put back
  Rest* giving_ = nullptr;      // what is being given again
  bool last_bytes_ = false;     // since close_after_writes(): the loop owns the stream until it is done
  Lifetime lifetime_;
};

}  // namespace lineward::net
