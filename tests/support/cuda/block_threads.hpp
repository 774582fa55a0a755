// The threads of one block of a kernel that wait for each other, as fibers on the calling thread.
#pragma once

#include "tests/support/cuda/kernel_bodies.hpp"

#include <functional>

namespace troupe::testing {

// Calls body(i) for each thread i of a block. All reach the same number of barriers, or the process
// is aborted with a message.
void run_block(unsigned threads, const std::function<void(unsigned)>& body);

// The barrier. Call from within run_block() only.
void wait_for_block();

}  // namespace troupe::testing
