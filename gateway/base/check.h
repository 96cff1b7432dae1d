// Invariants that stay on in release builds: going on with a broken one would send an answer to the wrong
// caller.
#pragma once

#include <cstdio>
#include <cstdlib>

// What must not be, and is put up with where nobody is watching: ends a debug build.
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
