// spin: `a = a*a + a` over 64 doubles, a given number of times. Work of a chosen length that hardly
// uses memory, for benchmarks (the compute kernel of Task Bench: Slaughter et al., SC 2020).
//
// Inputs only set the start values, so that the result shows which tensors the op read. Start
// values lie in (-0.375, -0.125]. From there, a*a + a = a(a + 1) climbs towards 0 and never reaches
// it (as -1/n after n steps). So values neither overflow nor become subnormal, which would be slow,
// however many iterations there are. The map is one-to-one there, so different start values stay
// different.
#include "core/ops/builtin.hpp"
#include "core/ops/fingerprint.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr std::size_t lanes = Fingerprint::lanes;

TensorType spin_type(const OpSignature&) {
  return {DType::f64, Shape{std::int64_t{lanes}}};
}

// A multiplication and an addition per lane and iteration. Reads at most 64 elements of each input.
Work spin_work(const OpSignature& op, const TensorType& output) {
  Work work;
  work.flops = 2.0 * lanes * static_cast<double>(op.attrs.get<std::int64_t>("iterations"));
  work.bytes = static_cast<double>(output.bytes() + op.inputs.size() * lanes * sizeof(double));
  return work;
}

void spin_kernel(const CpuCall& call) {
  const auto iterations = call.attrs.get<std::int64_t>("iterations");
  const Fingerprint inputs(call.inputs);
  alignas(64) std::array<double, lanes> a;
  for (std::size_t j = 0; j < lanes; ++j) a[j] = -0.125 - 0.25 * inputs.unit(j);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (double& x : a) x = x * x + x;
  }
  std::copy(a.begin(), a.end(), call.output.as<double>());
}

}  // namespace

OpKind spin_op() {
  return {.name = "spin",
          .summary = "a = a*a + a over 64 doubles, `iterations` times",
          .inputs = {0, 64},
          .attrs = {{.name = "iterations",
                     .fallback = std::int64_t{0},
                     .required = true,
                     .value_max = 1'000'000'000'000}},
          .takes_integers = true,
          .type = spin_type,
          .work = spin_work,
          .cpu = spin_kernel};
}

}  // namespace troupe
