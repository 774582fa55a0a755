// Memory that is there before it is touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

// Has the system give the pages that lie in `memory` whole, at once rather than one by one as they
// are touched; what they hold stays. Blocks. False where it can't: Linux before 5.14, or no memory
// left.
bool populate(std::span<const std::byte> memory);

// Populates big arrays from a second thread, ahead of the one that fills them. Does nothing where
// they are small, or there is no thread left.
class Prefault {
 public:
  using Bytes = std::span<const std::byte>;
  // They are filled at the same time, each from its beginning, and must outlive this.
  explicit Prefault(std::vector<Bytes> arrays);
  // Waits until the part at hand is there; the rest is left.
  ~Prefault();
  Prefault(const Prefault&) = delete;
  Prefault& operator=(const Prefault&) = delete;

 private:
  void work() const;

  const std::vector<Bytes> arrays_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace troupe
