// uniform: seeded values in [0, 1), the same on every backend.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

void uniform_kernel(const CpuCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const auto value = Uniform<T>::of_seed(call.attrs.get<std::int64_t>("seed"));
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = value(i);
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
