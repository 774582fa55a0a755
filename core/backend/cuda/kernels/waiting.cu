// spin and sleep: ops that only take time.
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/waiting.cuh"

namespace troupe::cuda_launchers {
namespace {

template <class Word>
void fold(const CudaCall& call, LaunchShape lanes, const ConstTensorView& input) {
  const std::int64_t count =
      std::min<std::int64_t>(Fingerprint::lanes, input.type.shape.elements());
  launch(call, lanes, device_kernels::fold_input<Word>, input.as<Word>(), count,
         call.output.as<std::uint64_t>());
}

// Writes the first `count` hashes of the inputs to the output.
LaunchShape hash_inputs(const CudaCall& call, unsigned count) {
  const LaunchShape lanes{.blocks = 1, .threads = count};
  launch(call, lanes, device_kernels::start_hashes, call.output.as<std::uint64_t>());
  for (const ConstTensorView& input : call.inputs) {
    if (size_of(input.type.dtype) == sizeof(std::uint32_t)) {
      fold<std::uint32_t>(call, lanes, input);
    } else {
      fold<std::uint64_t>(call, lanes, input);
    }
  }
  return lanes;
}

}  // namespace

void spin(const CudaCall& call) {
  const LaunchShape lanes = hash_inputs(call, Fingerprint::lanes);
  launch(call, lanes, device_kernels::spin_lanes, call.output.as<double>(),
         call.attrs.get<std::int64_t>("iterations"));
}

void sleep(const CudaCall& call) {
  const LaunchShape lane = hash_inputs(call, 1);
  launch(call, lane, device_kernels::sleep_lane, call.output.as<double>(),
         std::int64_t{call.attrs.get<Duration>("duration").count()});
}

}  // namespace troupe::cuda_launchers
