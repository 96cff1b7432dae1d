#include "huge_pages.h"

#include "sanitized.h"

#if !LINEWARD_SIM_SANITIZED

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lineward::sim {
namespace {

constexpr uintptr_t down(uintptr_t at) {
  return at & ~uintptr_t{kHugePage - 1};
}

struct Code {
  uintptr_t from = 0, to = 0;
  // The large pages of the code hold no other part of the program: it was linked so.
  bool alone = true;
};

Code find_code() {
  const auto* parts = reinterpret_cast<const Elf64_Phdr*>(getauxval(AT_PHDR));
  const size_t count = getauxval(AT_PHNUM);
  uintptr_t base = 0;
  for (size_t i = 0; i < count; ++i)
    if (parts[i].p_type == PT_PHDR) base = reinterpret_cast<uintptr_t>(parts) - parts[i].p_vaddr;
  Code code;
  const auto each = [&](bool is_code, auto&& see) {
    for (size_t i = 0; i < count; ++i)
      if (parts[i].p_type == PT_LOAD && ((parts[i].p_flags & PF_X) != 0) == is_code)
        see(base + parts[i].p_vaddr, base + parts[i].p_vaddr + parts[i].p_memsz);
  };
  size_t parts_of_code = 0;
  each(true, [&](uintptr_t from, uintptr_t to) {
    code.from = from, code.to = to;
    ++parts_of_code;
  });
  code.alone = parts_of_code == 1;
  each(false, [&](uintptr_t from, uintptr_t to) {
    if (down(from) <= down(code.to - 1) && down(code.from) <= down(to - 1)) code.alone = false;
  });
  return code;
}

}  // namespace

void move_code_to_huge_pages() {
  const Code code = find_code();
  if (code.from == code.to || !code.alone) return;
  const uintptr_t from = down(code.from);
  const size_t size = down(code.to - 1) + kHugePage - from;
  void* room = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return;
  auto* copy = reinterpret_cast<char*>(down(reinterpret_cast<uintptr_t>(room) + kHugePage - 1));
  // Code that is copied before the advice would stay in small pages.
  if (madvise(copy, size, MADV_HUGEPAGE) != 0) return;
  std::memcpy(copy + (code.from - from), reinterpret_cast<const void*>(code.from), code.to - code.from);
  if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0) return;
  // In one step: the next instruction is already read from the copy.
  mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(from));
}

void* make_stack() {
  void* room = mmap(nullptr, kStack + kHugePage, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) std::abort();
  void* from = reinterpret_cast<void*>(down(reinterpret_cast<uintptr_t>(room) + kHugePage - 1));
  // A fiber that needs more than three quarters of it is reported.
  if (mprotect(from, kHugePage, PROT_NONE) != 0) std::abort();
  return from;
}

}  // namespace lineward::sim

#else

namespace lineward::sim {
void move_code_to_huge_pages() {}
}  // namespace lineward::sim

#endif
