// potrf by cuSOLVER, which counts by columns: the lower triangle by rows is its upper one.
#include "core/backend/cuda/kernels/cuda_blas.hpp"
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/triangle.cuh"
#include "core/ops/elementwise.hpp"
#include "core/ops/failures.hpp"

namespace troupe::cuda_launchers {

void potrf(const CudaCall& call) {
  const std::int64_t rows = call.output.type.shape[0];
  const int n = static_cast<int>(rows);  // see check_blas_extents()
  constexpr auto triangle = CUBLAS_FILL_MODE_UPPER;
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    T* const l = call.output.as<T>();
    // Before anything is issued: there may be no memory.
    int elements = 0;
    check_cuda(CudaBlasOf<T>::potrf_buffer_size(call.on.solver(), triangle, n, l, n, &elements),
               "cuSOLVER's potrf_bufferSize");
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
    std::byte* const buffer = call.on.scratch(bytes + sizeof(int));
    int* const info = reinterpret_cast<int*>(buffer + bytes);
    launch(call, threads_for(rows * rows), device_kernels::lower_triangle<T>,
           call.inputs[0].as<T>(), l, rows);
    check_cuda(CudaBlasOf<T>::potrf(call.on.solver(), triangle, n, l, n,
                                    reinterpret_cast<T*>(buffer), elements, info),
               "cuSOLVER's potrf");
    launch(call, single_block, device_kernels::check_factor<T>, l, rows, info, call.verdict);
  });
}

std::string explain_potrf(std::int32_t verdict) {
  return not_positive_definite(verdict).what();
}

}  // namespace troupe::cuda_launchers
