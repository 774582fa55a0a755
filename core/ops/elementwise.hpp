// Shape rules, work and loops for ops that compute each output element independently.
#pragma once

#include "core/base/error.hpp"
#include "core/ops/op_kind.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

// The shape rule of kinds with declares_type. Throws a usage Error if no shape is given.
inline TensorType declared_type(const OpSignature& op) {
  if (op.declared.shape.rank() == 0) {
    throw usage_error("no shape is given", "say what to make, e.g. shape: [1000, 1000]");
  }
  return op.declared;
}

// The work of an op that reads every input once and writes the output once.
inline Work streaming_work(const OpSignature& op, const TensorType& output,
                           double flops_per_element) {
  Work work;
  work.flops = flops_per_element * static_cast<double>(output.shape.elements());
  work.bytes = static_cast<double>(output.bytes());
  for (const TensorType& input : op.inputs) work.bytes += static_cast<double>(input.bytes());
  return work;
}

// Calls f(float{}) or f(double{}), as `dtype` says.
template <class F>
void with_element(DType dtype, const F& f) {
  if (dtype == DType::f32) {
    f(float{});
  } else {
    f(double{});
  }
}

// Calls f(begin, end) for blocks that cover 0 … elements-1, on the team. A block of 2^15 elements
// takes one core 0.1 to 0.3 ms: small enough to balance the load, large enough to hide the cost of
// distributing blocks.
template <class F>
void for_blocks(Team& team, std::int64_t elements, const F& f) {
  constexpr std::int64_t block = std::int64_t{1} << 15;
  const auto blocks = static_cast<std::size_t>((elements + block - 1) / block);
  team.run(blocks, [&](std::size_t i) {
    const auto begin = static_cast<std::int64_t>(i) * block;
    f(begin, std::min(begin + block, elements));
  });
}

}  // namespace troupe
