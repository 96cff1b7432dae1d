#include "proxy/core/owned_call.h"

#include "foundation/base/check.h"
#include "foundation/log/log.h"

namespace lineward::core {

OwnedCall::~OwnedCall() {
  LW_DEBUG_CHECK(!live());
}

void OwnedCall::cancel_alive(const std::string& upstream) {
  log::write(log::Level::error, "bug.call_destroyed_alive", {{"upstream", upstream}});
  cancel("internal error");
}

}  // namespace lineward::core
