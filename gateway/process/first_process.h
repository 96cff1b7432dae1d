// The duties of process 1, which Lineward is where a container starts it: nobody else waits for orphans
// there, and the kernel keeps from it every signal that it has no handler for. The gateway itself then is a
// child of a small process that has these duties.
#pragma once

namespace lineward::net {

// Call it in main(), while there is one thread. Returns at once in any process but the first, and in the
// child of that one. The first process stays in it: it waits for whatever ends, passes signals on, and ends
// when its child does, as that did.
void serve_as_first_process();

// What that is without being process 1. In the child it returns; ends the calling process with _exit().
void stand_before_child();

}  // namespace lineward::net
