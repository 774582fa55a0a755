#include "tests/support/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace troupe::testing {
namespace {

thread_local int allocations_left = 0;  // the last of them fails; 0: all succeed

}  // namespace

FailingNew::FailingNew(int nth) {
  allocations_left = nth;
}
FailingNew::~FailingNew() {
  allocations_left = 0;
}

}  // namespace troupe::testing

// NOLINTBEGIN(cppcoreguidelines-no-malloc)
void* operator new(std::size_t bytes) {
  using troupe::testing::allocations_left;
  if (allocations_left > 0 && --allocations_left == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)
