// A connected byte stream: a TCP or Unix socket, or one end of a pipe. Reads are pushed to the owner; writes
// are queued, gathered and sent once per loop turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/base/result.h"
#include "foundation/net/handle.h"
#include "foundation/net/loop.h"
#include "foundation/net/piece_queue.h"
#include "foundation/net/stream.h"

namespace lineward::net {

class ByteStream final : public Stream {
 public:
  // Takes the descriptor (closed on failure too).
  static Result<std::unique_ptr<ByteStream>> from_pipe(Loop& loop, int fd);
  // Takes a connected handle.
  static std::unique_ptr<ByteStream> from_handle(Loop& loop, Handle<uv_tcp_t> handle);
  static std::unique_ptr<ByteStream> from_handle(Loop& loop, Handle<uv_pipe_t> handle);
  // A connected socket, TCP or Unix; takes the descriptor (closed on failure too).
  static Result<std::unique_ptr<ByteStream>> from_socket(Loop& loop, int fd);
  ~ByteStream() override;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  void set_owner(StreamCallbacks* owner) override;
  // From here on the bytes on the socket are TLS, those that were put back too; the owner reads and writes
  // plain bytes. Call it for a TCP socket, before anything is written. A session from detach() continues
  // where it stopped. False: the stream is not a TCP socket.
  bool speak_tls(std::unique_ptr<TlsSession> session);
  const TlsSession* tls() const override;
  void start_reading() override;
  void pause_reading() override;
  bool reading() const override { return reading_; }
  void put_back(std::string_view rest) override;
  bool holds_back() const { return rest_ != nullptr; }

  void write(std::string bytes) override {
    if (bytes.empty() || closed() || ending_writes_ || shut_) return;
    backlog_ += bytes.size();
    queue_.push(std::move(bytes));
    schedule_flush();
  }
  void flush_now() override;
  void charge(const AccountPtr& account) override { backlog_.charge(account); }
  size_t backlog() const override;
  // Total bytes that the kernel took, or may have taken.
  uint64_t sent() const { return sent_; }

  void end_writes() override {
    ending_writes_ = true;
    schedule_flush();
  }
  void close() override;
  // Sends queued bytes, then closes; gives up after `patience`. No more callbacks.
  static void close_after_writes(std::unique_ptr<ByteStream> stream, milliseconds patience) {
    if (!stream || stream->closed() || (stream->backlog_ == 0 && !stream->writing_)) return;
    stream->owner_ = nullptr;
    stream->pause_reading();
    stream->last_bytes_ = true;
    EndOfTurnFlush& others = stream->loop_.last_writers_;
    others.take(std::move(stream), patience);
  }
  bool closed() const { return !pipe_ && !tcp_; }
  int detach(std::unique_ptr<TlsSession>* tls) override;
  int detach() { return detach(nullptr); }
  // No data, end or error is pending: looks into the kernel's buffer of a socket.
  bool quiet() const;
  bool peer_is_silent(milliseconds quiet) override;
  uint16_t local_port() const override;
  // The user id of the peer of a Unix socket (SO_PEERCRED); nullopt for other streams.
  std::optional<uint32_t> peer_uid() const;

 private:
  friend class Listener;
  struct WriteRequest;
  struct Rest;
  struct Tls;
  explicit ByteStream(Loop& loop);
  uv_stream_t* raw() const { return tcp_ ? tcp_.stream() : pipe_.stream(); }
  int socket();
  uint16_t ask_local_port() const;
  int watch();
  void ready(int status, int events);
  void receive();
  void read_pipe(std::string_view bytes, bool full);
  int read_on();
  void give_rest();
  void rest_is_tls();
  StreamCallbacks* reader() const;
  int try_send();
  void drop_queue() {
    queue_.clear();
    gone_ = 0;
    backlog_ = 0;
  }
  void flush();
  // byte_stream_tls.cc
  int try_send_tls();
  bool seal_some();
  void flush_tls();
  void note_output(size_t before);
  // May destroy this stream.
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
  // May destroy this stream.
  void write_failed(int error) {
    drop_queue();
    if (last_bytes_) return loop_.last_writers_.done(*this);
    ended(error);
  }
  void ended(int error);

  Loop& loop_;
  Handle<uv_pipe_t> pipe_;
  Handle<uv_tcp_t> tcp_;
  // A TCP socket is read and written by its descriptor: libuv's read(2) goes through the file system layer
  // first. The handle above tells when there is something to read, for fewer system calls than a poll handle.
  Handle<uv_poll_t> poll_;  // only of a stream that has waited to write
  int socket_ = -1;
  mutable int32_t local_port_ = -1;  // -1: not asked yet
  int watched_ = 0;                  // events watched
  StreamCallbacks* owner_ = nullptr;
  PieceQueue queue_;
  size_t gone_ = 0;  // bytes of the first piece already sent
  HeldCount backlog_{Held::queues};
  size_t writing_bytes_ = 0;  // bytes handed to libuv; 0 for a TCP socket
  uint64_t sent_ = 0;
  bool reading_ = false;
  bool ended_ = false;
  bool writing_ = false;  // a uv_write is under way, or the socket's buffer is full
  Deferred flush_later_;
  bool ending_writes_ = false;
  bool shut_ = false;
  bool asks_when_quiet_ = false;
  uint64_t full_reads_turn_ = 0;  // pipes: the turn that full_reads_ belongs to
  int full_reads_ = 0;
  std::unique_ptr<Rest> rest_;  // bytes put back
  Rest* giving_ = nullptr;      // bytes being delivered again
  bool last_bytes_ = false;     // after close_after_writes(): the loop owns the stream until it is done
  // Between the socket and the owner: `owner_` is this. A plain stream has none, and does nothing for it when
  // it reads or flushes at the end of a turn.
  std::unique_ptr<Tls> tls_;
  Lifetime lifetime_;
};

}  // namespace lineward::net
