// A world touches most of the gateway's code once or twice, and its objects are spread over their kinds'
// slabs: with pages of 4 KiB the processor looks up addresses as much as it computes. Large ones are found
// in its tables.
#pragma once

#include <cstddef>
#include <functional>

namespace lineward::sim {

constexpr size_t kHugePage = size_t{2} << 20;

// Before there is a second thread: this program's own code is from now on a copy of itself, in memory that
// the kernel may give in large pages. Where it gives none all is as before.
void move_code_to_huge_pages();

// On a thread that begins and ends here, one at a time: all have the same stack, which the kernel need not
// clear for each.
void on_warm_stack(const std::function<void()>& work);

}  // namespace lineward::sim
