// Memory that is there when it is needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

// Has the system give big arrays their memory from a second thread, ahead of the one that fills
// them, which else waits for it page by page. Contents stay as they are. Does nothing where the
// arrays are small, the system can't do so (Linux before 5.14) or has no thread left.
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
