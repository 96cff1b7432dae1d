// The connection between two gateways: one has connected to the other, and each sees its own end of a Link.
// Bytes, ends and breaks of either go on to the other as they come.
#pragma once

#include <memory>

#include "link.h"

namespace lineward::sim {

class Joint final : public std::enable_shared_from_this<Joint> {
 public:
  // `from`: the end of the connecting gateway; `to`: the end of the other.
  Joint(std::shared_ptr<Link> from, std::shared_ptr<Link> to) : from_(std::move(from)), to_(std::move(to)) {}
  ~Joint();
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;
  void begin();

 private:
  static void pass(Link& from, Link& to);
  std::shared_ptr<Link> from_, to_;
};

}  // namespace lineward::sim
