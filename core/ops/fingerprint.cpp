#include "core/ops/fingerprint.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

constexpr std::array<std::uint64_t, Fingerprint::lanes> initial_hashes = [] {
  std::array<std::uint64_t, Fingerprint::lanes> hashes{};
  for (std::size_t j = 0; j < hashes.size(); ++j) hashes[j] = Fingerprint::initial(j);
  return hashes;
}();

template <class Word>
void fold(std::array<std::uint64_t, Fingerprint::lanes>& hashes, const std::byte* data,
          std::size_t count) {
  std::array<Word, Fingerprint::lanes> words;
  std::memcpy(words.data(), data, count * sizeof(Word));
  for (std::size_t j = count; j < words.size(); ++j) words[j] = words[j - count];
  for (std::size_t j = 0; j < words.size(); ++j) {
    hashes[j] = Fingerprint::folded(hashes[j], words[j]);
  }
}

}  // namespace

Fingerprint::Fingerprint(std::span<const ConstTensorView> inputs) : hashes_(initial_hashes) {
  for (const ConstTensorView& input : inputs) {
    const auto count = std::min(lanes, static_cast<std::size_t>(input.type.shape.elements()));
    if (size_of(input.type.dtype) == sizeof(std::uint32_t)) {
      fold<std::uint32_t>(hashes_, input.data, count);
    } else {
      fold<std::uint64_t>(hashes_, input.data, count);
    }
  }
}

}  // namespace troupe
