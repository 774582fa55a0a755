// Memory that is set aside for what must not fail.
#pragma once

#include <cstddef>
#include <memory>

namespace troupe {

// Some KiB on the heap, and, for a thread that gets no heap of its own, as addresses, until it is
// destroyed.
class SpareMemory {
 public:
  // Throws std::bad_alloc.
  SpareMemory();
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

 private:
  std::unique_ptr<std::byte[]> block_;
  void* mapping_ = nullptr;
};

}  // namespace troupe
