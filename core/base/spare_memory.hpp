// Memory that is set aside for what must not fail.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace troupe {

// Some KiB on the heap, and, for a thread that gets no heap of its own, as addresses, until it is
// destroyed.
class SpareMemory {
 public:
  // Throws std::bad_alloc.
  SpareMemory() : block_(std::make_unique<std::byte[]>(bytes)) {
    mapping_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SpareMemory() { munmap(mapping_, bytes); }
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

 private:
  static constexpr std::size_t bytes = 1 << 14;
  std::unique_ptr<std::byte[]> block_;
  void* mapping_ = nullptr;
};

}  // namespace troupe
