// softmax, layer_norm, softmax_cross_entropy and its gradient.
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/rows.cuh"
#include "core/ops/failures.hpp"
#include "core/ops/rows.hpp"

namespace troupe::cuda_launchers {
namespace {

// The rows along the last axis of a tensor, and how they are spread over blocks.
struct Rows {
  std::int64_t length;
  std::int64_t count;
  unsigned lanes;

  explicit Rows(const Shape& shape)
      : length(row_length(shape)), count(shape.elements() / length), lanes(lanes_for(length)) {}
  LaunchShape shape() const { return blocks_for(count, device_kernels::block_threads / lanes); }
};

template <class T>
void check_labels(const CudaCall& call, const Rows& rows) {
  launch(call, single_block, device_kernels::check_labels<T>, call.inputs[1].as<T>(), rows.count,
         rows.length, call.verdict);
}

}  // namespace

void softmax(const CudaCall& call) {
  const Rows rows(call.output.type.shape);
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    launch(call, rows.shape(), device_kernels::softmax_rows<T>, call.inputs[0].as<T>(),
           call.output.as<T>(), rows.count, rows.length, rows.lanes);
  });
}

void layer_norm(const CudaCall& call) {
  const Rows rows(call.output.type.shape);
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    launch(call, rows.shape(), device_kernels::layer_norm_rows<T>, call.inputs[0].as<T>(),
           call.inputs[1].as<T>(), call.inputs[2].as<T>(),
           static_cast<T>(call.attrs.get<double>("epsilon")), call.output.as<T>(), rows.count,
           rows.length, rows.lanes);
  });
}

void softmax_cross_entropy(const CudaCall& call) {
  const Rows rows(call.inputs[0].type.shape);
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    T* const losses =
        reinterpret_cast<T*>(call.on.scratch(static_cast<std::size_t>(rows.count) * sizeof(T)));
    check_labels<T>(call, rows);
    launch(call, rows.shape(), device_kernels::cross_entropy_rows<T>, call.inputs[0].as<T>(),
           call.inputs[1].as<T>(), losses, rows.count, rows.length, rows.lanes);
    launch(call, single_block, device_kernels::mean_of<T>, losses, rows.count, call.output.as<T>());
  });
}

void softmax_cross_entropy_grad(const CudaCall& call) {
  const Rows rows(call.inputs[0].type.shape);
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    check_labels<T>(call, rows);
    launch(call, rows.shape(), device_kernels::cross_entropy_grad_rows<T>, call.inputs[0].as<T>(),
           call.inputs[1].as<T>(), call.output.as<T>(), rows.count, rows.length, rows.lanes);
  });
}

std::string explain_label(std::int32_t verdict) {
  return no_class(verdict - 1).what();
}

}  // namespace troupe::cuda_launchers
