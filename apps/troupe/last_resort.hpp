// What the program does where it has no memory left, not even for an error, or where memory is
// gone.
#pragma once

namespace troupe {

// Grows the stack of the calling thread, the main one, to a size that suffices. A stack grows when
// it is used; if there are no addresses left then (ulimit -v), a signal ends the program.
void grow_stack();

// From here on, std::bad_alloc that nobody catches, on whatever thread, ends the program with the
// message below and exit code 1, and not with a signal. Temporary files are removed before.
void handle_uncaught_bad_alloc();

// From here on, memory that is gone (a mapped file was made shorter) ends the program in the same
// way, with a message that says what may have become of it.
void handle_lost_pages();

// "troupe: there is not enough memory; raise the limit (ulimit -v)", on standard error. Allocates
// nothing.
void print_out_of_memory() noexcept;

}  // namespace troupe
