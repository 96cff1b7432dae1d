// Invariants that are checked in release builds too: continuing with a broken one could send an answer to the
// wrong caller.
#pragma once

#include <cstdio>
#include <cstdlib>

// An invariant that aborts debug builds when it is broken, and that release builds tolerate.
#ifdef NDEBUG
#define LW_DEBUG_CHECK(condition) static_cast<void>(0)
#else
#define LW_DEBUG_CHECK(condition) LW_CHECK(condition)
#endif

#define LW_CHECK(condition)                                                                           \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "lineward: internal error: %s (%s:%d)\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (0)
