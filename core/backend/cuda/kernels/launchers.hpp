// The launchers of the op kinds, a function for each: see CudaKernel. cuda_kernels.cpp lists them.
#pragma once

#include "core/backend/cuda/cuda_call.hpp"

namespace troupe::cuda_launchers {

// elements.cu
void uniform(const CudaCall& call);
void zeros(const CudaCall& call);
void constant(const CudaCall& call);
void arange(const CudaCall& call);
void scale(const CudaCall& call);
void axpy(const CudaCall& call);
void reciprocal(const CudaCall& call);
void exp(const CudaCall& call);
void log(const CudaCall& call);
void sqrt(const CudaCall& call);
void sin(const CudaCall& call);
void cos(const CudaCall& call);
void tanh(const CudaCall& call);
void sigmoid(const CudaCall& call);
void pow(const CudaCall& call);
void abs(const CudaCall& call);
void gelu(const CudaCall& call);
void relu(const CudaCall& call);
void relu_grad(const CudaCall& call);
void cast(const CudaCall& call);
// arithmetic.cu
void add(const CudaCall& call);
void sub(const CudaCall& call);
void mul(const CudaCall& call);
void div(const CudaCall& call);
void maximum(const CudaCall& call);
void minimum(const CudaCall& call);
void greater(const CudaCall& call);
void greater_equal(const CudaCall& call);
void equal(const CudaCall& call);
void where(const CudaCall& call);
// reduce.cu
void sum(const CudaCall& call);
void max(const CudaCall& call);
void min(const CudaCall& call);
void argmax(const CudaCall& call);
void argmin(const CudaCall& call);
// rows.cu
void softmax(const CudaCall& call);
void layer_norm(const CudaCall& call);
void softmax_cross_entropy(const CudaCall& call);
void softmax_cross_entropy_grad(const CudaCall& call);
std::string explain_label(std::int32_t verdict);
// layout.cu
void copy(const CudaCall& call);
void reshape(const CudaCall& call);
void transpose(const CudaCall& call);
void slice(const CudaCall& call);
void concat(const CudaCall& call);
// take.cu
void take(const CudaCall& call);
void index_add(const CudaCall& call);
std::string explain_number(std::int32_t verdict);
// products.cpp
void matmul(const CudaCall& call);
void gemm(const CudaCall& call);
void syrk(const CudaCall& call);
void trsm(const CudaCall& call);
// potrf.cu
void potrf(const CudaCall& call);
std::string explain_potrf(std::int32_t verdict);
// waiting.cu
void spin(const CudaCall& call);
void sleep(const CudaCall& call);

}  // namespace troupe::cuda_launchers
