#include "foundation/net/last_writers.h"

#include "foundation/net/byte_stream.h"
#include "foundation/net/loop.h"

namespace lineward::net {

struct LastWriters::Entry {
  std::unique_ptr<ByteStream> stream;
  std::unique_ptr<Timer> patience;
};

LastWriters::LastWriters(Loop& loop) : loop_(loop) {}

LastWriters::~LastWriters() = default;

void LastWriters::take(std::unique_ptr<ByteStream> stream, milliseconds patience) {
  ByteStream* self = stream.get();
  auto timer = std::make_unique<Timer>(loop_);
  timer->start(patience, [this, self] { done(*self); });
  streams_.emplace(self, Entry{std::move(stream), std::move(timer)});
}

void LastWriters::done(ByteStream& stream) {
  auto found = streams_.find(&stream);
  if (found == streams_.end()) return;
  stream.close();
  loop_.retire(std::move(found->second.stream));
  streams_.erase(found);
}

void LastWriters::clear() {
  streams_.clear();
}

}  // namespace lineward::net
