// sum, max, min, argmax and argmin over an axis.
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/reduce.cuh"
#include "core/ops/axis.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/reduction.hpp"

namespace troupe::cuda_launchers {
namespace {

using device_kernels::block_threads;
using device_kernels::ReducedAxis;

// The lanes that share a column, or a part of one, of `extent` elements. Neighbouring threads read
// neighbouring columns where there are some: a cache line full.
unsigned lanes_of(std::int64_t extent, std::int64_t inner) {
  return lanes_for(extent, block_threads / lanes_for(inner, 32));
}

// Few long columns are cut into parts, so that a GPU has enough to do, but each lane has some
// elements. Depends on the shape alone.
ReducedAxis cut_axis(const AxisView& view) {
  constexpr std::int64_t blocks_wanted = 1024;
  constexpr std::int64_t lane_elements_min = 16;
  const std::int64_t lanes = lanes_of(view.extent, view.inner);
  const std::int64_t blocks = view.outer * view.inner * lanes / block_threads + 1;
  const std::int64_t parts = std::clamp(view.extent / (lanes * lane_elements_min), std::int64_t{1},
                                        (blocks_wanted + blocks - 1) / blocks);
  const std::int64_t part_extent = (view.extent + parts - 1) / parts;
  return {view.outer, view.extent, view.inner, (view.extent + part_extent - 1) / part_extent,
          part_extent};
}

template <class T, class Operation>
void reduce_axis(const CudaCall& call, const ReducedAxis& axis, const T* x, T* out) {
  const unsigned lanes = lanes_of(axis.part_extent, axis.inner);
  launch(call, blocks_for(axis.outer * axis.parts * axis.inner, block_threads / lanes),
         device_kernels::reduce_axis<T, Operation>, axis, lanes, x, out);
}

template <class T, class Operation>
void reduce_parts(const CudaCall& call, const AxisView& view) {
  const ReducedAxis axis = cut_axis(view);
  const T* const x = call.inputs[0].as<T>();
  T* const out = call.output.as<T>();
  if (axis.parts == 1) return reduce_axis<T, Operation>(call, axis, x, out);
  const auto partials = static_cast<std::size_t>(axis.outer * axis.parts * axis.inner);
  T* const partial = reinterpret_cast<T*>(call.on.scratch(partials * sizeof(T)));
  reduce_axis<T, Operation>(call, axis, x, partial);
  reduce_axis<T, Operation>(call, {axis.outer, axis.parts, axis.inner, 1, axis.parts}, partial,
                            out);
}

template <template <class> class Operation>
void reduce(const CudaCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    reduce_parts<T, Operation<T>>(call, view);
  });
}

template <class T, template <class> class Extreme, class In, class Out>
void find_in_parts(const CudaCall& call, const ReducedAxis& axis, const In* x, Out* out) {
  const unsigned lanes = lanes_of(axis.part_extent, axis.inner);
  launch(call, blocks_for(axis.outer * axis.parts * axis.inner, block_threads / lanes),
         device_kernels::find_places<T, Extreme, In, Out>, axis, lanes, x, out);
}

template <template <class> class Extreme>
void find_places(const CudaCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const ReducedAxis axis = cut_axis(AxisView(shape, axis_in(shape, call.attrs)));
  with_number(call.inputs[0].type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const x = call.inputs[0].as<T>();
    auto* const out = call.output.as<std::int64_t>();
    if (axis.parts == 1) return find_in_parts<T, Extreme>(call, axis, x, out);
    const auto partials = static_cast<std::size_t>(axis.outer * axis.parts * axis.inner);
    auto* const partial =
        reinterpret_cast<Placed<T>*>(call.on.scratch(partials * sizeof(Placed<T>)));
    find_in_parts<T, Extreme>(call, axis, x, partial);
    const ReducedAxis of_parts{axis.outer, axis.parts, axis.inner, 1, axis.parts};
    find_in_parts<T, Extreme, Placed<T>>(call, of_parts, partial, out);
  });
}

}  // namespace

void sum(const CudaCall& call) {
  reduce<Sum>(call);
}
void max(const CudaCall& call) {
  reduce<Max>(call);
}
void min(const CudaCall& call) {
  reduce<Min>(call);
}
void argmax(const CudaCall& call) {
  find_places<Max>(call);
}
void argmin(const CudaCall& call) {
  find_places<Min>(call);
}

}  // namespace troupe::cuda_launchers
