// A hash of an op's inputs, for ops that compute nothing from them (spin, sleep). If such an op
// reads a wrong tensor, or reads a tensor too early, its result differs.
#pragma once

#include "core/base/random.hpp"
#include "core/ops/op_kind.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace troupe {

// 64 hashes; hash j depends on element j (modulo the number of elements) of every input and on the
// order of the inputs. Takes about 0.03 us per input, little compared with these ops.
class Fingerprint {
 public:
  static constexpr std::size_t lanes = 64;

  explicit Fingerprint(std::span<const ConstTensorView> inputs);

  // Hash j of no inputs.
  static constexpr std::uint64_t initial(std::size_t j) { return mix(j); }
  // The step of FNV-1a on whole words: xor, then multiply by an odd number. The step is invertible,
  // so that no difference in an input is lost. All lower bits affect the top bits, which `unit_of`
  // reads. The multiplier is that of SplitMix64's first round.
  static constexpr std::uint64_t folded(std::uint64_t hash, std::uint64_t word) {
    return (hash ^ word) * 0xBF58476D1CE4E5B9ULL;
  }
  // A hash as a double in [0, 1): 52 of its bits as the mantissa of a number in [1, 2).
  static constexpr double unit_of(std::uint64_t hash) {
    return std::bit_cast<double>((hash >> 12) | 0x3FF0000000000000ULL) - 1.0;
  }

  double unit(std::size_t j) const { return unit_of(hashes_[j]); }

 private:
  std::array<std::uint64_t, lanes> hashes_;
};

}  // namespace troupe
