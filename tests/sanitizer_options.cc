// Options of programs built with AddressSanitizer, before those of ASAN_OPTIONS, and work at their start.
// Linked into each of them (CMakeLists.txt), and not sanitized itself.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

extern "C" {
extern char __executable_start, __bss_start, _end;  // of the linker
const char* __asan_default_options();
void __asan_get_shadow_mapping(size_t* scale, size_t* offset);
}

// The traps of UndefinedBehaviorSanitizer come as SIGILL.
const char* __asan_default_options() {
  return "handle_sigill=1";
}

namespace {

constexpr uintptr_t kHugePage = 2 << 20;

void in_huge_pages(uintptr_t from, uintptr_t to) {
  from = from & ~(kHugePage - 1);
  to = (to + kHugePage - 1) & ~(kHugePage - 1);
  madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

// The tests start such programs thousands of times. The cost of each start is the first touch of each page:
// of the shadow of all globals, and of the zeroes that are searched for leaks at the end.
void touch_less() {
  const auto begin = reinterpret_cast<uintptr_t>(&__executable_start);
  const auto zeroes = reinterpret_cast<uintptr_t>(&__bss_start);
  const auto end = reinterpret_cast<uintptr_t>(&_end);
  size_t scale = 0, offset = 0;
  __asan_get_shadow_mapping(&scale, &offset);
  in_huge_pages((begin >> scale) + offset, (end >> scale) + offset);
  in_huge_pages(zeroes, end);
}

}  // namespace

// Behind the entry of the sanitizer, before its list of globals.
__attribute__((section(".preinit_array"), used)) void (*const lineward_touch_less)() = touch_less;
