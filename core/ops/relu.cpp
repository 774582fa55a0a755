// relu: out[i] = max(x[i], 0); a NaN stays a NaN. relu_grad: its gradient.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {

OpKind relu_op() {
  return {.name = "relu",
          .summary = "max(x, 0), element by element",
          .inputs = 1,
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) { for_each_element<1>(call, Relu{}); }};
}

OpKind relu_grad_op() {
  return {.name = "relu_grad",
          .summary = "the gradient of relu: g where x > 0, else 0, of inputs g and x",
          .inputs = 2,
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) { for_each_element<2>(call, ReluGrad{}); }};
}

}  // namespace troupe
