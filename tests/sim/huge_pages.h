// A world touches most of the gateway's code once or twice, and its objects are spread over slabs: with pages
// of 4 KiB address look-ups take as long as computing. Large ones are found in its tables.
#pragma once

#include <cstddef>

namespace lineward::sim {

constexpr size_t kHugePage = size_t{2} << 20;

// Before there is a second thread: this program's own code is from now on a copy of itself, in memory that
// the kernel may give in large pages. Without any all is as before.
void move_code_to_huge_pages();

// The stack of a fiber: never given back, and its lowest quarter must not be touched. Stacks of finished
// worlds are reused, so that the kernel need not clear new ones.
constexpr size_t kStack = 4 * kHugePage;
void* make_stack();

}  // namespace lineward::sim
