// What ops share that make each element of their output on its own.
#pragma once

#include "core/base/error.hpp"
#include "core/ops/op_kind.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

// The rule of kinds with declares_type; throws a usage Error where no shape is given.
inline TensorType declared_type(const OpSignature& op) {
  if (op.declared.shape.rank() == 0) {
    throw usage_error("no shape is given", "say what to make, e.g. shape: [1000, 1000]");
  }
  return op.declared;
}

// Every input read once, the output written once.
inline Work streaming_work(const OpSignature& op, const TensorType& output,
                           double flops_per_element) {
  Work work;
  work.flops = flops_per_element * static_cast<double>(output.shape.elements());
  work.bytes = static_cast<double>(output.bytes());
  for (const TensorType& input : op.inputs) work.bytes += static_cast<double>(input.bytes());
  return work;
}

// Calls f(float{}) or f(double{}).
template <class F>
void with_element(DType dtype, const F& f) {
  if (dtype == DType::f32) {
    f(float{});
  } else {
    f(double{});
  }
}

// Calls f(begin, end) for blocks that cover 0 … elements-1, on the team. 2^15 elements are 0.1 to
// 0.3 ms of one core: small enough to share out evenly, large enough to hide the sharing.
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
