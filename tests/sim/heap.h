// The allocator for the objects of worlds. A world has some thousand small ones and its own threads, so an
// allocator's cache for each thread is cold each time. Only one of a world's threads runs at a time, so no
// lock is needed. Lists of free pieces that all worlds share are therefore as good as it gets: the piece that
// was given back last is given out next.
//
// Only in a world: a thread that begins or ends beside it, and all that is outside, has malloc(). A piece
// that is given back there waits until the world wants one of its kind. A sanitizer brings an allocator of
// its own, and has it.
#pragma once

namespace lineward::sim {

// Called by a thread: from now on it is the running one of its world.
void enters_heap();
void leaves_heap();

}  // namespace lineward::sim
