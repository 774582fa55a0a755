// What the program does where it has no memory left, not even for an error.
#pragma once

namespace troupe {

// From here on, std::bad_alloc that nobody catches, on whatever thread, ends the program with the
// message below and exit code 1, and not with a signal. Temporary files are removed before.
void handle_uncaught_bad_alloc();

// "troupe: there is not enough memory; raise the limit (ulimit -v)", on standard error. Allocates
// nothing.
void print_out_of_memory() noexcept;

}  // namespace troupe
