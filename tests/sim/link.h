// A connection of the gateway: two one-way streams of bytes that take their time, come in pieces, fill up,
// stand still, end and break as the seed says. A pipe is a link of which one way is used.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "queue.h"
#include "random.h"

namespace lineward::sim {

class World;

// How the bytes of a connection go. Drawn for each anew.
struct Weather {
  int64_t delay = 100;      // µs, at least
  int64_t jitter = 200;     // and at most so much more
  unsigned split = 20;      // percent of the writes that arrive in pieces
  size_t smallest = 1;      // piece
  size_t room = 64 * 1024;  // that fits in before the writer has to wait
};
Weather draw_weather(Random& random, bool calm);

// A one-way stream.
class Way {
 public:
  Way(World& world, Random random, Weather weather);
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  // ---- the writer ----
  // The number of bytes taken; 0: wait for on_room.
  size_t write(std::string_view bytes);
  void end();  // behind what was written
  // Breaks: what is under way is lost in part.
  void reset();
  bool ended() const { return ended_ || reset_; }
  // The same, to arrive at this moment, or as soon as what was written has.
  void end_at(int64_t at, bool reset);
  // When what was written last arrives, unless something stands still.
  int64_t last_arrival() const { return last_arrival_; }
  std::function<void()> on_room;

  // ---- the reader ----
  // The threads of the two ends; kNobody: a client's or server's.
  int writer_home = -1, reader_home = -1;
  // Something is there, or the end; called again and again only after something new has come.
  std::function<void()> on_ready;
  std::string_view ready() const { return std::string_view(ready_).substr(taken_); }
  void take(size_t count);
  // All was read, and then comes nothing more.
  bool at_end() const { return end_arrived_ && taken_ == ready_.size(); }
  bool broken() const { return reset_arrived_; }
  // Its writer has ended it, whatever is still to be read.
  bool end_has_arrived() const { return end_arrived_; }
  // The reader has gone: the next write reports it.
  void close_reader();
  bool reader_gone() const { return reader_gone_; }

  // No bytes arrive until then.
  void stall(int64_t until) { stalled_until_ = until > stalled_until_ ? until : stalled_until_; }

  uint64_t written() const { return written_; }
  uint64_t consumed() const { return consumed_; }
  // When the byte in front of `consumed` was written.
  int64_t consumed_was_written() const { return last_consumed_write_; }
  // When the byte behind `consumed` was; of what is ready.
  int64_t next_was_written() const {
    for (const Stamp& stamp : stamps_) {
      if (stamp.end > consumed_) return stamp.at;
    }
    return last_consumed_write_;
  }
  // The writer had to wait once: what it wrote later it may have given up long before.
  bool was_full() const { return was_full_; }
  // Called once, when that many bytes have been read.
  void when_consumed(uint64_t offset, std::function<void()> then);

 private:
  void arrive();
  void arrive_end(bool reset);
  int64_t arrival();
  bool elsewhere() const;
  World& world_;
  Random random_;
  Weather weather_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Queue<std::string> flight_;
  std::string ready_;
  size_t taken_ = 0;
  size_t held_ = 0;  // under way or waiting
  int64_t last_arrival_ = 0;
  int64_t stalled_until_ = 0;
  bool ended_ = false, reset_ = false;
  bool end_arrived_ = false, reset_arrived_ = false;
  bool reader_gone_ = false;
  bool blocked_ = false, was_full_ = false;
  uint64_t written_ = 0, consumed_ = 0;
  struct Stamp {
    uint64_t end;
    int64_t at;
  };
  Queue<Stamp> stamps_;
  int64_t last_consumed_write_ = 0;
  struct Mark {
    uint64_t at;
    std::function<void()> then;
  };
  Queue<Mark> marks_;
};

struct Link {
  Link(World& world, const Random& random, const Weather& weather, std::string its_peer);
  Way to_gateway, from_gateway;
  std::string peer;  // "10.0.0.7:5000"
  // By the gateway's side.
  bool gateway_closed = false;
  int64_t gateway_saw_end = -1;  // when it learned that the other side has ended, or broken
  int64_t gateway_closed_at = -1;
  // A stream of an HTTP/2 connection ends with it, and may have been refused before anything was done for it.
  std::shared_ptr<Link> carrier;
  bool unprocessed = false;
  int64_t saw_end() const {
    return gateway_saw_end < 0 && carrier ? carrier->gateway_saw_end : gateway_saw_end;
  }
};

}  // namespace lineward::sim
