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
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  using troupe::testing::allocations_left;
  if (allocations_left > 0 && --allocations_left == 0) return nullptr;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)
