// How launchers start each_element.
#pragma once

#include "core/backend/cuda/kernels/elements.cuh"
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/ops/elementwise.hpp"

#include <utility>

namespace troupe {

// The type of input k: In for each.
template <class In, std::size_t k>
using InputType = In;

// Computes out[i] = f(x[i], y[i], …) for all elements of type T, of inputs with elements of type
// In.
template <class T, std::size_t inputs, class In = T, class F>
void launch_each_element(const CudaCall& call, const F& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    const std::int64_t count = call.output.type.shape.elements();
    launch(call, threads_for(count, device_kernels::pack_size<T, In>),
           device_kernels::each_element<T, F, InputType<In, k>...>, call.output.as<T>(), count, f,
           call.inputs[k].template as<In>()...);
  }
  (std::make_index_sequence<inputs>{});
}

}  // namespace troupe
