// A digest of a tensor's values. It stays when the tensor is freed, so that the values can still be
// compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace troupe {

// 128 bits (XXH3). Two different tensors have equal digests with a probability of 2^-128, unless
// they were made to.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

// Blocks about as long as it takes to read the values from memory.
Digest digest_of(std::span<const std::byte> values);

// Digest of the first `bytes` of a file. Blocks; reads 1 MiB at a time. Returns nullopt if the file
// is shorter or can't be read.
std::optional<Digest> digest_of_file(const std::filesystem::path& file, std::uint64_t bytes);

}  // namespace troupe
