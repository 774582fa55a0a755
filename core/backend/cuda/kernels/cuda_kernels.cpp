#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/kernels/kinds.hpp"
#include "core/backend/cuda/kernels/launchers.hpp"

#include <algorithm>
#include <array>

namespace troupe {

std::span<const CudaKernelEntry> cuda_kernels() {
  using namespace cuda_launchers;
  static constexpr std::array entries = std::to_array<CudaKernelEntry>({
      {"uniform", uniform},
      {"zeros", zeros},
      {"constant", constant},
      {"arange", arange},
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", cuda_launchers::div},
      {"maximum", maximum},
      {"minimum", minimum},
      {"greater", cuda_launchers::greater},
      {"greater_equal", cuda_launchers::greater_equal},
      {"equal", cuda_launchers::equal},
      {"where", where},
      {"scale", scale},
      {"axpy", axpy},
      {"reciprocal", reciprocal},
      {"exp", cuda_launchers::exp},
      {"log", cuda_launchers::log},
      {"sqrt", cuda_launchers::sqrt},
      {"sin", cuda_launchers::sin},
      {"cos", cuda_launchers::cos},
      {"tanh", cuda_launchers::tanh},
      {"sigmoid", sigmoid},
      {"pow", cuda_launchers::pow},
      {"abs", cuda_launchers::abs},
      {"gelu", gelu},
      {"relu", relu},
      {"relu_grad", relu_grad},
      {"sum", sum},
      {"max", cuda_launchers::max},
      {"min", cuda_launchers::min},
      {"argmax", argmax},
      {"argmin", argmin},
      {"softmax", softmax},
      {"layer_norm", layer_norm},
      {"softmax_cross_entropy", softmax_cross_entropy, explain_label},
      {"softmax_cross_entropy_grad", softmax_cross_entropy_grad, explain_label},
      {"cast", cast},
      {"copy", copy},
      {"reshape", reshape},
      {"transpose", transpose},
      {"slice", slice},
      {"take", take, explain_number},
      {"index_add", index_add, explain_number},
      {"concat", concat},
      {"matmul", matmul},
      {"gemm", gemm},
      {"syrk", syrk},
      {"trsm", trsm},
      {"potrf", potrf, explain_potrf},
      {"spin", spin},
      {"sleep", cuda_launchers::sleep},
  });
  static_assert(std::equal(entries.begin(), entries.end(), cuda_kinds.begin(), cuda_kinds.end(),
                           [](const CudaKernelEntry& entry, std::string_view kind) {
                             return entry.kind == kind;
                           }),
                "kinds.hpp lists the same kinds in the same order");
  return entries;
}

}  // namespace troupe
