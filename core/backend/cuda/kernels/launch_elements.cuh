// How launchers start each_element, for ops whose inputs have the type of the output.
#pragma once

#include "core/backend/cuda/kernels/elements.cuh"
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/ops/elementwise.hpp"

#include <utility>

namespace troupe {

// The type of input k: T for each.
template <class T, std::size_t k>
using InputType = T;

// Computes out[i] = f(x[i], y[i], …) for all elements of type T.
template <class T, std::size_t inputs, class F>
void launch_each_element(const CudaCall& call, const F& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    const std::int64_t count = call.output.type.shape.elements();
    launch(call, threads_for(count, device_kernels::Pack<T>::size),
           device_kernels::each_element<T, F, InputType<T, k>...>, call.output.as<T>(), count, f,
           call.inputs[k].template as<T>()...);
  }
  (std::make_index_sequence<inputs>{});
}

}  // namespace troupe
