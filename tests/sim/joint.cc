#include "joint.h"

namespace lineward::sim {

Joint::~Joint() {
  for (Link* link : {from_.get(), to_.get()}) {
    link->from_gateway.on_ready = nullptr;
    link->to_gateway.on_room = nullptr;
  }
}

void Joint::begin() {
  const auto join = [this](Link& a, Link& b) {
    a.from_gateway.on_ready = b.to_gateway.on_room = [weak = weak_from_this(), &a, &b] {
      if (auto self = weak.lock()) pass(a, b);
    };
  };
  join(*from_, *to_);
  join(*to_, *from_);
  pass(*from_, *to_);
  pass(*to_, *from_);
}

void Joint::pass(Link& from, Link& to) {
  Way& out = from.from_gateway;
  Way& in = to.to_gateway;
  while (!out.ready().empty()) {
    const size_t taken = in.write(out.ready());
    // After the other one has closed no room is made any more.
    if (taken == 0 && in.reader_gone()) out.close_reader();
    if (taken == 0) return;
    out.take(taken);
  }
  if (out.broken()) {
    in.reset();
  } else if (out.at_end()) {
    in.end();
  }
}

}  // namespace lineward::sim
