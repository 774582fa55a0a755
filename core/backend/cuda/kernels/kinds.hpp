// The op kinds that GPUs have kernels for: a leader without GPUs plans for nodes that have some.
#pragma once

#include <array>
#include <string_view>

namespace troupe {

// In the order of cuda_kernels.cpp, which has the kernels.
inline constexpr auto cuda_kinds = std::to_array<std::string_view>({"uniform",
                                                                    "zeros",
                                                                    "constant",
                                                                    "arange",
                                                                    "add",
                                                                    "sub",
                                                                    "mul",
                                                                    "div",
                                                                    "maximum",
                                                                    "minimum",
                                                                    "greater",
                                                                    "greater_equal",
                                                                    "equal",
                                                                    "where",
                                                                    "scale",
                                                                    "axpy",
                                                                    "reciprocal",
                                                                    "exp",
                                                                    "log",
                                                                    "sqrt",
                                                                    "sin",
                                                                    "cos",
                                                                    "tanh",
                                                                    "sigmoid",
                                                                    "pow",
                                                                    "abs",
                                                                    "gelu",
                                                                    "relu",
                                                                    "relu_grad",
                                                                    "sum",
                                                                    "max",
                                                                    "min",
                                                                    "argmax",
                                                                    "argmin",
                                                                    "softmax",
                                                                    "layer_norm",
                                                                    "softmax_cross_entropy",
                                                                    "softmax_cross_entropy_grad",
                                                                    "cast",
                                                                    "copy",
                                                                    "reshape",
                                                                    "transpose",
                                                                    "slice",
                                                                    "take",
                                                                    "index_add",
                                                                    "concat",
                                                                    "matmul",
                                                                    "gemm",
                                                                    "syrk",
                                                                    "trsm",
                                                                    "potrf",
                                                                    "spin",
                                                                    "sleep"});

}  // namespace troupe
