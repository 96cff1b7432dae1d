// The duties of process 1, which Lineward is if a container starts it. No other process reaps orphans there,
// and the kernel drops every signal to process 1 without a handler. The gateway itself then is a child of a
// small process with these duties.
#pragma once

namespace lineward::process {

// To be called in main(), while there is one thread. Returns at once in any process but the first, and in the
// child of that one. The first process stays in it: it reaps processes, forwards signals, and ends when its
// child does, with the same status.
void serve_as_first_process();

// The same without being process 1. Returns in the child; ends the calling process with _exit().
void stand_before_child();

}  // namespace lineward::process
