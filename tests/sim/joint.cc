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
      if (auto self = weak.lock()) pass(a.from_gateway, b.to_gateway);
    };
  };
  join(*from_, *to_);
  join(*to_, *from_);
  pass(from_->from_gateway, to_->to_gateway);
  pass(to_->from_gateway, from_->to_gateway);
}

void Joint::pass(Way& out, Way& in) {
  while (!out.ready().empty()) {
    const size_t taken = in.write(out.ready());
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
