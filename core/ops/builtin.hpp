// The op kinds that come with Troupe: one function and one file for each, listed in registry.cpp.
// elementwise.cpp defines add, sub and mul.
#pragma once

#include "core/ops/op_kind.hpp"

namespace troupe {

OpKind uniform_op();
OpKind zeros_op();
OpKind matmul_op();
OpKind add_op();
OpKind sub_op();
OpKind mul_op();
OpKind scale_op();
OpKind relu_op();
OpKind copy_op();
OpKind spin_op();
OpKind sleep_op();
OpKind fail_op();

}  // namespace troupe
