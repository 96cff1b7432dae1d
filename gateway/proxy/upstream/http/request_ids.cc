#include "proxy/upstream/http/request_ids.h"

#include <sys/random.h>

#include <utility>

#include "foundation/base/check.h"

namespace lineward::upstream {

void RequestIds::share() {
  if (std::exchange(shared_, true)) return;
  uint32_t place = 0;
  LW_CHECK(getrandom(&place, sizeof place, 0) == sizeof place);
  next_ = (int64_t{place} + 1) << 20;
}

}  // namespace lineward::upstream
