// copy, reshape, transpose, slice and concat: the same values elsewhere.
#include "core/backend/cuda/kernels/boxes.cuh"
#include "core/backend/cuda/kernels/copy_on_device.hpp"
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/ops/axis.hpp"
#include "core/ops/layout.hpp"

namespace troupe::cuda_launchers {
namespace {

template <class T>
void copy_box(const CudaCall& call, const StridedBox<2>& box, const T* from, T* to) {
  const std::int64_t count = box.rows() * box.length();
  const bool is_contiguous = box.rank() <= 1 && box.step(0) == 1 && box.step(1) == 1;
  if (is_contiguous) return copy_on_device(call, from, to, count * sizeof(T));
  launch(call, threads_for(count), device_kernels::each_place<T, device_kernels::Same, 2, T>, box,
         to, device_kernels::Same{}, from);
}

template <class T>
void launch_transpose(const CudaCall& call, const StridedBox<2>& box) {
  const T* const from = call.inputs[0].as<T>();
  T* const to = call.output.as<T>();
  std::size_t across = 0;
  while (across + 1 < box.rank() && box.stride(0, across) != 1) ++across;
  constexpr std::int64_t extent_min = 8;  // of tiles that aren't mostly empty
  if (box.step(0) == 1 || box.length() < extent_min || box.extent(across) < extent_min) {
    return copy_box(call, box, from, to);
  }
  constexpr std::int64_t tile_elements = device_kernels::tile_extent * device_kernels::tile_extent;
  launch(call, blocks_for(box.rows() * box.length(), tile_elements),
         device_kernels::transpose_tiles<T>, box, across, from, to);
}

}  // namespace

// Within the memory of the device: links move the values elsewhere.
void copy(const CudaCall& call) {
  copy_on_device(call, call.inputs[0].data, call.output.data, call.output.type.bytes());
}

void reshape(const CudaCall& call) {
  copy_on_device(call, call.inputs[0].data, call.output.data, call.output.type.bytes());
}

void transpose(const CudaCall& call) {
  const Shape& x = call.inputs[0].type.shape;
  const auto box = transpose_box(call.attrs, x, call.output.type.shape);
  with_number(call.output.type.dtype,
              [&](auto element) { launch_transpose<decltype(element)>(call, box); });
}

void slice(const CudaCall& call) {
  const ConstTensorView& x = call.inputs[0];
  const PartBox part = slice_box(call.attrs, x.type.shape, call.output.type.shape);
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    copy_box(call, part.box, x.as<T>() + part.first, call.output.as<T>());
  });
}

void concat(const CudaCall& call) {
  const TensorView& out = call.output;
  const std::size_t axis = axis_in(out.type.shape, call.attrs);
  std::int64_t before = 0;
  for (const ConstTensorView& input : call.inputs) {
    const PartBox part = concat_box(input.type.shape, out.type.shape, axis, before);
    with_number(out.type.dtype, [&](auto element) {
      using T = decltype(element);
      copy_box(call, part.box, input.as<T>(), out.as<T>() + part.first);
    });
    before += input.type.shape[axis];
  }
}

}  // namespace troupe::cuda_launchers
