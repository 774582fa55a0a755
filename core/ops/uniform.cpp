// uniform: seeded values in [0, 1), the same on every backend.
//
// Element i is the top 24 bits of mix(mix(seed) + i) for float32, the top 53 bits for float64, so
// that every value is exact. The generator is counter-based: elements can be computed in any order.
#include "core/base/random.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

float to_unit(std::uint64_t bits, float) {
  return static_cast<float>(bits >> 40) * 0x1p-24F;
}
double to_unit(std::uint64_t bits, double) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

void uniform_kernel(const CpuCall& call) {
  // The seed is hashed, since seeds s and s+1 would give the same sequence shifted by one.
  const auto seed = mix(static_cast<std::uint64_t>(call.attrs.get<std::int64_t>("seed")));
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   out[i] = to_unit(mix(seed + static_cast<std::uint64_t>(i)), T{});
                 }
               });
  });
}

}  // namespace

OpKind uniform_op() {
  return {.name = "uniform",
          .summary = "seeded random values in [0, 1)",
          .attrs = {{.name = "seed", .fallback = std::int64_t{0}}},
          .declares_type = true,
          .work = streaming<0>,  // the generator's integer work is not counted as FLOPs
          .cpu = uniform_kernel};
}

}  // namespace troupe
