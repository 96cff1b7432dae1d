#include "foundation/net/end_of_turn_flush.h"

#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"

namespace lineward::net {

struct EndOfTurnFlush::Entry {
  std::unique_ptr<ByteStream> stream;
  std::unique_ptr<Timer> patience;
};

EndOfTurnFlush::EndOfTurnFlush(Loop& loop) : loop_(loop) {}

EndOfTurnFlush::~EndOfTurnFlush() = default;

void EndOfTurnFlush::take(std::unique_ptr<ByteStream> stream, milliseconds patience) {
  ByteStream* self = stream.get();
  auto timer = std::make_unique<Timer>(loop_);
  timer->start(patience, [this, self] { done(*self); });
  streams_.emplace(self, Entry{std::move(stream), std::move(timer)});
}

void EndOfTurnFlush::done(ByteStream& stream) {
  auto found = streams_.find(&stream);
  if (found == streams_.end()) return;
  stream.close();
  loop_.retire(std::move(found->second.stream));
  streams_.erase(found);
}

void EndOfTurnFlush::clear() {
  streams_.clear();
}

}  // namespace lineward::net
