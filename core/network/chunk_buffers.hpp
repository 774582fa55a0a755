// Where small chunks lie until they are taken.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

// Keeps some of the buffers that are given back: the allocator may return their pages to the system
// each time, and to get them anew takes as long as to copy a chunk. For one thread at a time.
class ChunkBuffers {
  struct GiveBack {
    ChunkBuffers* to = nullptr;
    std::size_t bytes = 0;
    void operator()(std::byte* buffer) const {
      std::unique_ptr<std::byte[]> owned(buffer);
      if (to != nullptr) to->keep(std::move(owned), bytes);
    }
  };

 public:
  // Gives itself back; must not outlive these.
  using Buffer = std::unique_ptr<std::byte[], GiveBack>;

  ChunkBuffers() = default;
  ChunkBuffers(const ChunkBuffers&) = delete;
  ChunkBuffers& operator=(const ChunkBuffers&) = delete;

  Buffer get(std::size_t bytes) {
    if (bytes < kept_bytes_min || bytes > kept_bytes_max) return Buffer(new std::byte[bytes], {});
    const std::size_t capacity = std::bit_ceil(bytes);
    auto& spare = spare_[class_of(capacity)];
    const GiveBack give_back{.to = this, .bytes = capacity};
    if (spare.empty()) return Buffer(new std::byte[capacity], give_back);
    Buffer buffer(spare.back().release(), give_back);
    spare.pop_back();
    return buffer;
  }

 private:
  static constexpr std::size_t kept_bytes_min = 4 << 10;
  static constexpr std::size_t kept_bytes_max = 64 << 10;
  static constexpr std::size_t kept_of_a_class = 32;

  static std::size_t class_of(std::size_t capacity) {
    return static_cast<std::size_t>(std::countr_zero(capacity / kept_bytes_min));
  }
  void keep(std::unique_ptr<std::byte[]> buffer, std::size_t capacity) {
    auto& spare = spare_[class_of(capacity)];
    if (spare.size() < kept_of_a_class) spare.push_back(std::move(buffer));
  }

  // By powers of two.
  std::array<std::vector<std::unique_ptr<std::byte[]>>, 5> spare_;
};

}  // namespace troupe
