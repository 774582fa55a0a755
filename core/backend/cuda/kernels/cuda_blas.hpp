// The functions of cuBLAS and cuSOLVER that launchers use, by element type.
#pragma once

#include <cublas_v2.h>
#include <cusolverDn.h>

namespace troupe {

// For T float or double, under the names without the letter of the type.
template <class T>
struct CudaBlasOf;

template <>
struct CudaBlasOf<float> {
  static constexpr auto gemm = cublasSgemm;
  static constexpr auto gemm_strided_batched = cublasSgemmStridedBatched;
  static constexpr auto syrk = cublasSsyrk;
  static constexpr auto trsm = cublasStrsm;
  static constexpr auto potrf_buffer_size = cusolverDnSpotrf_bufferSize;
  static constexpr auto potrf = cusolverDnSpotrf;
};

template <>
struct CudaBlasOf<double> {
  static constexpr auto gemm = cublasDgemm;
  static constexpr auto gemm_strided_batched = cublasDgemmStridedBatched;
  static constexpr auto syrk = cublasDsyrk;
  static constexpr auto trsm = cublasDtrsm;
  static constexpr auto potrf_buffer_size = cusolverDnDpotrf_bufferSize;
  static constexpr auto potrf = cusolverDnDpotrf;
};

}  // namespace troupe
