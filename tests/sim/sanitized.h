// Is this build one of a sanitizer that watches threads or memory? It has its own threads and allocator, and
// must have them.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINEWARD_SIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LINEWARD_SIM_SANITIZED 1
#endif
#endif
#if !defined(LINEWARD_SIM_SANITIZED)
#define LINEWARD_SIM_SANITIZED 0
#endif
