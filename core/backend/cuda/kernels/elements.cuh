// Kernels that compute each element by itself: from its index, or from the elements at the same
// place in tensors of the same shape.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"

namespace troupe::device_kernels {

// out[i] = f(i)
template <class T, class F>
__global__ void each_index(T* out, std::int64_t count, F f) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) out[i] = f(i);
}

// What a thread loads or stores at once. With single elements, too few bytes would be on their way
// to keep the memory of a GPU busy.
template <class T>
struct alignas(16) Pack {
  static constexpr std::int64_t size = 16 / sizeof(T);
  T values[size];
};

template <class T, class F, class... In>
__device__ Pack<T> on_pack(const F& f, const Pack<In>... in) {
  Pack<T> result;
  for (std::int64_t k = 0; k < Pack<T>::size; ++k) result.values[k] = f(in.values[k]...);
  return result;
}

// out[i] = f(x[i], y[i], …) for tensors of the same type. `out` may be one of them.
template <class T, class F, class... In>
__global__ void each_element(T* out, std::int64_t count, F f, const In*... in) {
  const std::int64_t packs = count / Pack<T>::size;
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    reinterpret_cast<Pack<T>*>(out)[i] = on_pack<T>(f, reinterpret_cast<const Pack<In>*>(in)[i]...);
  }
  for (std::int64_t i = packs * Pack<T>::size + first_index(); i < count; i += index_step()) {
    out[i] = f(in[i]...);
  }
}

}  // namespace troupe::device_kernels
