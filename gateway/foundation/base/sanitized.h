// Whether this is a build with a sanitizer, for Clang and GCC.
#pragma once

namespace lineward {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LW_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define LW_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define LW_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LW_ADDRESS_SANITIZER 1
#endif

#ifdef LW_THREAD_SANITIZER
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#ifdef LW_ADDRESS_SANITIZER
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace lineward
