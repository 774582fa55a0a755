// scale and axpy: multiples of a tensor, with alpha rounded to the tensor's element type.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {

OpKind scale_op() {
  return {.name = "scale",
          .summary = "alpha * x",
          .inputs = 1,
          .attrs = {{.name = "alpha", .fallback = 1.0, .required = true}},
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) {
            for_each_element<1>(call, Scale{call.attrs.get<double>("alpha")});
          }};
}

OpKind axpy_op() {
  return {.name = "axpy",
          .summary = "alpha * x + y",
          .inputs = 2,
          .attrs = {{.name = "alpha", .fallback = 1.0, .required = true}},
          .in_place_of = 1,
          .work = streaming<2>,
          .cpu = [](const CpuCall& call) {
            for_each_element<2>(call, Axpy{call.attrs.get<double>("alpha")});
          }};
}

}  // namespace troupe
