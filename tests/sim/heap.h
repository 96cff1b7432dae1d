// Where the objects of worlds come from. A world is made of some thousand small ones and runs on threads of
// its own, so what an allocator keeps for each thread is cold each time; and of a world's threads one runs at
// a time, so nobody has to be waited for. Lists of free pieces that all worlds share are therefore as good as
// it gets: the piece that was given back last is given out next.
//
// Only in a world: a thread that begins or ends beside it, and all that is outside, has malloc(). A piece
// that is given back there waits until the world wants one of its kind. A sanitizer brings an allocator of
// its own, and has it.
#pragma once

namespace lineward::sim {

// Of the thread that calls: from now on it is the one of a world that runs.
void enters_heap();
void leaves_heap();

}  // namespace lineward::sim
