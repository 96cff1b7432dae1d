// Invariants that stay on in release builds: going on with a broken one would send an answer to the wrong
// caller.
#pragma once

#include <cstdio>
#include <cstdlib>

#define LW_CHECK(condition)                                                                           \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "lineward: internal error: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (0)
