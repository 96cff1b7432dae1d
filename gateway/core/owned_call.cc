#include "core/owned_call.h"

#include "base/check.h"
#include "log/log.h"

namespace lineward::core {

OwnedCall::~OwnedCall() {
  LW_DEBUG_CHECK(!live());
}

void OwnedCall::cancel_alive(const std::string& upstream) {
  log::write(log::Level::error, "bug.call_destroyed_alive", {{"upstream", upstream}});
  cancel("internal error");
}

}  // namespace lineward::core
