// The op kinds that come with Troupe: a function for each, which its file defines, and their list.
#pragma once

#include "core/ops/op_kind.hpp"

#include <array>

namespace troupe {

// Made from nothing.
OpKind uniform_op();
OpKind zeros_op();
OpKind constant_op();
OpKind arange_op();
OpKind load_op();
// Element by element.
OpKind add_op();
OpKind sub_op();
OpKind mul_op();
OpKind div_op();
OpKind maximum_op();
OpKind minimum_op();
OpKind greater_op();
OpKind greater_equal_op();
OpKind equal_op();
OpKind where_op();
OpKind scale_op();
OpKind axpy_op();
OpKind reciprocal_op();
OpKind exp_op();
OpKind log_op();
OpKind sqrt_op();
OpKind sin_op();
OpKind cos_op();
OpKind tanh_op();
OpKind sigmoid_op();
OpKind pow_op();
OpKind abs_op();
OpKind gelu_op();
OpKind relu_op();
OpKind relu_grad_op();
// Over an axis.
OpKind sum_op();
OpKind max_op();
OpKind min_op();
OpKind argmax_op();
OpKind argmin_op();
OpKind softmax_op();
OpKind layer_norm_op();
OpKind softmax_cross_entropy_op();
OpKind softmax_cross_entropy_grad_op();
// The same values in other forms or places.
OpKind cast_op();
OpKind copy_op();
OpKind reshape_op();
OpKind transpose_op();
OpKind slice_op();
OpKind take_op();
OpKind index_add_op();
OpKind concat_op();
// Matrices.
OpKind matmul_op();
OpKind gemm_op();
OpKind syrk_op();
OpKind trsm_op();
OpKind potrf_op();
// For tests and benchmarks.
OpKind spin_op();
OpKind sleep_op();
OpKind fail_op();

inline constexpr std::array builtin_kinds = {uniform_op,
                                             zeros_op,
                                             constant_op,
                                             arange_op,
                                             load_op,
                                             add_op,
                                             sub_op,
                                             mul_op,
                                             div_op,
                                             maximum_op,
                                             minimum_op,
                                             greater_op,
                                             greater_equal_op,
                                             equal_op,
                                             where_op,
                                             scale_op,
                                             axpy_op,
                                             reciprocal_op,
                                             exp_op,
                                             log_op,
                                             sqrt_op,
                                             sin_op,
                                             cos_op,
                                             tanh_op,
                                             sigmoid_op,
                                             pow_op,
                                             abs_op,
                                             gelu_op,
                                             relu_op,
                                             relu_grad_op,
                                             sum_op,
                                             max_op,
                                             min_op,
                                             argmax_op,
                                             argmin_op,
                                             softmax_op,
                                             layer_norm_op,
                                             softmax_cross_entropy_op,
                                             softmax_cross_entropy_grad_op,
                                             cast_op,
                                             copy_op,
                                             reshape_op,
                                             transpose_op,
                                             slice_op,
                                             take_op,
                                             index_add_op,
                                             concat_op,
                                             matmul_op,
                                             gemm_op,
                                             syrk_op,
                                             trsm_op,
                                             potrf_op,
                                             spin_op,
                                             sleep_op,
                                             fail_op};

// Not listed: sessions add it to their registry.
OpKind given_op();

}  // namespace troupe
