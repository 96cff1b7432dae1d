#include "foundation/process/code_pages.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lineward::process {

namespace {

// Flags of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kPresent = uint64_t{1} << 63;

int unmap_object(dl_phdr_info* object, size_t /*size*/, void* bytes) {
  for (const ElfW(Phdr)* part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0) continue;
    const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + part->p_vaddr);
    *static_cast<size_t*>(bytes) += unmap_unchanged_pages(begin, begin + part->p_memsz);
  }
  return 0;
}

}  // namespace

size_t unmap_code_pages() {
  size_t bytes = 0;
  dl_iterate_phdr(unmap_object, &bytes);
  return bytes;
}

size_t unmap_unchanged_pages(const void* begin, const void* end) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t at = reinterpret_cast<uintptr_t>(begin) / page;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(end) + page - 1) / page;
  const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (map < 0) return 0;
  size_t bytes = 0;
  std::array<uint64_t, 512> entries;
  while (at < last) {
    const size_t wanted = std::min<size_t>(last - at, entries.size());
    const ssize_t got =
        pread(map, entries.data(), wanted * sizeof(uint64_t), static_cast<off_t>(at * sizeof(uint64_t)));
    if (got < static_cast<ssize_t>(sizeof(uint64_t))) break;
    const size_t count = static_cast<size_t>(got) / sizeof(uint64_t);
    const auto is_unchanged = [&](size_t i) {
      return (entries[i] & (kPresent | kOfFile)) == (kPresent | kOfFile) && (entries[i] & kSwapped) == 0;
    };
    for (size_t i = 0; i < count;) {
      size_t run = i;
      while (run < count && is_unchanged(run))
        ++run;
      const size_t length = (run - i) * page;
      if (length > 0 && madvise(reinterpret_cast<void*>((at + i) * page), length, MADV_DONTNEED) == 0)
        bytes += length;
      i = std::max(run, i + 1);
    }
    at += count;
  }
  close(map);
  return bytes;
}

}  // namespace lineward::process
