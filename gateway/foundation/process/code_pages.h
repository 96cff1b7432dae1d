// Unmaps the pages of the program and its libraries that are unchanged copies of their files. The kernel maps
// a page again from its cache when code on it runs. Much of the code that starts a gateway never runs again,
// but it would count as the resident memory of the process for ever.
#pragma once

#include <cstddef>

namespace lineward::process {

// In all read-only segments of loaded objects. Returns the bytes of the unmapped pages; 0 where the kernel
// does not tell which pages are unchanged (/proc/self/pagemap). Any thread may run code meanwhile.
size_t unmap_code_pages();

// The pages of [begin, end) that are mapped from a file and have no private copy. Pages that a debugger or a
// probe has written to are kept.
size_t unmap_unchanged_pages(const void* begin, const void* end);

}  // namespace lineward::process
