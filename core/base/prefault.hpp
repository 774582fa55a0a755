// Populating memory before it is first touched, to avoid page faults.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

// Populates the pages that lie wholly within `memory`, all in one system call. Their contents don't
// change. Blocks until done. Returns false if the system can't: Linux before 5.14, or no memory
// left.
bool populate(std::span<const std::byte> memory);

// Populates big arrays in a second thread, ahead of the thread that fills them. Does nothing if the
// arrays are small or no thread can be started.
class Prefault {
 public:
  using Bytes = std::span<const std::byte>;
  // The caller fills all arrays at the same time, each from its beginning. The arrays must outlive
  // the Prefault.
  explicit Prefault(std::vector<Bytes> arrays);
  // Blocks until the part under way is populated. The rest is not populated.
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
