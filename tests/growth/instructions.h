// The unit of `make growth` if the machine supports it: the instructions of a thread in user space.
#pragma once

#include <linux/perf_event.h>

inline perf_event_attr user_instructions() {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = PERF_TYPE_HARDWARE;
  what.config = PERF_COUNT_HW_INSTRUCTIONS;
  what.exclude_kernel = 1;
  what.exclude_hv = 1;
  return what;
}
