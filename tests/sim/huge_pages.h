// A world touches most of the gateway's code once or twice, and its objects are spread over their kinds'
// slabs: with pages of 4 KiB the processor looks up addresses as much as it computes. Large ones are found
// in its tables.
#pragma once

#include <cstddef>

namespace lineward::sim {

constexpr size_t kHugePage = size_t{2} << 20;

// Before there is a second thread: this program's own code is from now on a copy of itself, in memory that
// the kernel may give in large pages. Where it gives none all is as before.
void move_code_to_huge_pages();

// Of a fiber: as much as is never given back, the lowest quarter of which may not be touched. Those of worlds
// that are over are taken again, so that the kernel need not clear them for each.
constexpr size_t kStack = 4 * kHugePage;
void* make_stack();

}  // namespace lineward::sim
