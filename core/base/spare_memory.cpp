#include "core/base/spare_memory.hpp"

#include <new>

#include <sys/mman.h>

namespace troupe {
namespace {

constexpr std::size_t spare_bytes = 1 << 14;

}  // namespace

SpareMemory::SpareMemory() : block_(std::make_unique<std::byte[]>(spare_bytes)) {
  mapping_ = mmap(nullptr, spare_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
}

SpareMemory::~SpareMemory() {
  munmap(mapping_, spare_bytes);
}

}  // namespace troupe
