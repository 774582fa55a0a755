// Signals that ask the program to end.
#pragma once

#include <atomic>

namespace troupe {

// Call first of all in main(). A signal that was ignored when the program started (nohup) stays
// ignored. Until the run begins, SIGINT, SIGTERM and SIGHUP end the program at once; SIGQUIT,
// SIGXCPU, SIGUSR1 and SIGUSR2, with which batch systems warn, always do. Whatever of these ends
// it, its temporary files are removed before. Writes to a pipe without a reader and over the limit
// of a file's size fail with an error.
//
// If one of the latter says that the parent is gone (the leader of a local node was killed), the
// program has one second to end by itself once it catches interrupts. Then it is ended, and says
// why.
void handle_signals();

// From here on the first SIGINT, SIGTERM or SIGHUP sets interrupted() instead, so that a run ends
// in good order. A second one ends the program at once, unless it is SIGHUP: a terminal that
// closes sends more than one.
void catch_interrupts();

// From here on the first of these signals gives the program one more second, for what is left to
// write, and then ends it. So does one that has come since catch_interrupts().
void limit_interrupted_time();

// Whether a signal has come since catch_interrupts(). Any thread may read it.
const std::atomic<bool>& interrupted();

// Ends the process at once, whatever its threads are doing: removes temporary files, and destroys
// nothing that they may use.
[[noreturn]] void leave(int exit_code);

}  // namespace troupe
