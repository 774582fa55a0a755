#include "tests/support/cuda/block_threads.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace troupe::testing {
namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s\n", what);
  std::abort();
}

// Where a fiber goes on. swapcontext() would need two system calls for each switch. Callers of the
// functions below must not know which registers they change. Nor must AddressSanitizer know that
// go_to() doesn't return: it would take the functions on the stack for finished.
#ifdef __clang__
#define TROUPE_OPAQUE clang::optnone, gnu::noinline
#else
#define TROUPE_OPAQUE gnu::noipa
#endif
using Place = std::array<void*, 5>;

[[TROUPE_OPAQUE, gnu::no_sanitize_address]] void go_to(Place& to) {
  __builtin_longjmp(to.data(), 1);
}
// Returns when another fiber goes to `from`.
[[TROUPE_OPAQUE]] void switch_places(Place& from, Place& to) {
  if (__builtin_setjmp(from.data()) == 0) go_to(to);
}

struct Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(stack_bytes);
  Place place{};
  bool is_waiting = false;  // at a barrier
};

// The block that this thread runs. A fiber is kept for the next blocks: when it has called `body`,
// it goes back to the caller, and begins anew when it is resumed.
struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;
  Place caller{};
  const std::function<void(unsigned)>* body = nullptr;  // null: none runs
  unsigned current = 0;

  void add_fiber();
  unsigned resume_all(unsigned threads, bool backwards);
  void leave() { switch_places(fibers[current]->place, caller); }
};

thread_local Block block;

void run_fiber() {
  for (;;) {
    block.leave();
    (*block.body)(block.current);
  }
}

[[TROUPE_OPAQUE]] void start(Place& from, ucontext_t& context) {
  if (__builtin_setjmp(from.data()) == 0) setcontext(&context);
}

void Block::add_fiber() {
  current = static_cast<unsigned>(fibers.size());
  const auto& fiber = fibers.emplace_back(std::make_unique<Fiber>());
  ucontext_t context{};
  getcontext(&context);
  context.uc_stack.ss_sp = fiber->stack.get();
  context.uc_stack.ss_size = stack_bytes;
  makecontext(&context, run_fiber, 0);
  start(caller, context);
}

// Runs each fiber up to its next barrier or its end. Returns how many wait at a barrier.
unsigned Block::resume_all(unsigned threads, bool backwards) {
  unsigned waiting = 0;
  for (unsigned i = 0; i < threads; ++i) {
    current = backwards ? threads - 1 - i : i;
    Fiber& fiber = *fibers[current];
    fiber.is_waiting = false;
    switch_places(caller, fiber.place);
    if (fiber.is_waiting) ++waiting;
  }
  return waiting;
}

}  // namespace

void run_block(unsigned threads, const std::function<void(unsigned)>& body) {
  if (block.body != nullptr) fail("a kernel was launched by a kernel");
  while (block.fibers.size() < threads) block.add_fiber();
  block.body = &body;
  // Every other time, the threads run in reverse. So if a barrier is missing, a thread reads what
  // another one has not yet written, in one direction or the other.
  bool backwards = false;
  for (unsigned waiting = threads; waiting > 0; backwards = !backwards) {
    waiting = block.resume_all(threads, backwards);
    if (waiting != 0 && waiting != threads) {
      fail("threads of a block wait at a barrier that others don't reach");
    }
  }
  block.body = nullptr;
}

void wait_for_block() {
  if (block.body == nullptr) fail("a kernel with a barrier is not registered as one");
  block.fibers[block.current]->is_waiting = true;
  block.leave();
}

}  // namespace troupe::testing
