// Lets operator new fail. For programs that are linked with failing_new.cpp, which replaces it
// (without a sanitizer that of arrays, too, which calls it).
#pragma once

namespace troupe::testing {

// This thread's n-th allocation by operator new from now on throws std::bad_alloc, until destroyed.
class FailingNew {
 public:
  explicit FailingNew(int nth);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
};

}  // namespace troupe::testing
