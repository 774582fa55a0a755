// A table that one thread appends to while other threads read.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

// One thread, the writer, appends. Other threads may read an element after the writer has published
// its index to them, for example by a message. Arrays that the table has outgrown are freed by
// clear(), so references stay valid until then.
template <class T>
class SharedTable {
 public:
  const T& operator[](std::size_t i) const { return now_.load(std::memory_order_acquire)[i]; }

  // Call the functions below from the writer only.
  std::size_t size() const { return size_; }
  void push_back(T value) {
    if (size_ == capacity_) grow();
    generations_.back()[size_++] = std::move(value);
  }
  // Replaces an element. Its index must not have been published.
  void replace(std::size_t i, T value) { generations_.back()[i] = std::move(value); }
  // Removes all elements. No thread may read meanwhile.
  void clear() {
    generations_.clear();
    now_.store(nullptr, std::memory_order_relaxed);
    size_ = capacity_ = 0;
  }

 private:
  void grow() {
    capacity_ = capacity_ == 0 ? 64 : 2 * capacity_;
    generations_.push_back(std::make_unique<T[]>(capacity_));
    T* const grown = generations_.back().get();
    for (std::size_t i = 0; i < size_; ++i) grown[i] = (*this)[i];
    now_.store(grown, std::memory_order_release);
  }

  std::atomic<T*> now_ = nullptr;
  std::vector<std::unique_ptr<T[]>> generations_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace troupe
