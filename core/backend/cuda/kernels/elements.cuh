// Kernels that compute each element by itself: from its index, or from the elements at the same
// place in tensors of the same shape.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"

#include <algorithm>
#include <cstdint>

namespace troupe::device_kernels {

// out[i] = f(i)
template <class T, class F>
__global__ void each_index(T* out, std::int64_t count, F f) {
  for (std::int64_t i = first_index(); i < count; i += index_step()) out[i] = f(i);
}

// What a thread loads or stores at once: as many elements as 16 bytes hold of the largest type.
// With single elements, too few bytes would be on their way to keep the memory of a GPU busy.
template <class... T>
constexpr std::int64_t pack_size = std::min({16 / sizeof(T)...});
template <class T, std::int64_t size>
struct alignas(size * sizeof(T)) Pack {
  T values[size];
};

template <class T, std::int64_t size, class F, class... In>
__device__ Pack<T, size> on_pack(const F& f, const Pack<In, size>... in) {
  Pack<T, size> result;
  for (std::int64_t k = 0; k < size; ++k) result.values[k] = f(in.values[k]...);
  return result;
}

// out[i] = f(x[i], y[i], …) for tensors of the same shape. `out` may be one of them if it has the
// type of all.
template <class T, class F, class... In>
__global__ void each_element(T* out, std::int64_t count, F f, const In*... in) {
  constexpr std::int64_t size = pack_size<T, In...>;
  const std::int64_t packs = count / size;
  for (std::int64_t i = first_index(); i < packs; i += index_step()) {
    reinterpret_cast<Pack<T, size>*>(out)[i] =
        on_pack<T, size>(f, reinterpret_cast<const Pack<In, size>*>(in)[i]...);
  }
  for (std::int64_t i = packs * size + first_index(); i < count; i += index_step()) {
    out[i] = f(in[i]...);
  }
}

}  // namespace troupe::device_kernels
