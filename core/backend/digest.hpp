// What a tensor leaves behind when its buffer is freed: enough to tell whether it was the right
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace troupe {

// 128 bits (XXH3). Tensors that differ by accident have the same one once in 2^128 times.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

// Blocks, about as long as reading the values from memory takes.
Digest digest_of(std::span<const std::byte> values);

// Of the first `bytes` of a file, which it reads in parts of 1 MiB; none where there aren't as
// many.
std::optional<Digest> digest_of_file(const std::filesystem::path& file, std::uint64_t bytes);

}  // namespace troupe
