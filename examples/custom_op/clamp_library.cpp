// The same op for run files. From the root folder:
//
//   build/release/troupe run examples/custom_op/clamp.yaml --ops build/release/examples/libclamp.so
//
// core/ops/op_library.hpp says how to build such a library with an installed Troupe.
#include "examples/custom_op/clamp.hpp"
#include "troupe/troupe.hpp"

TROUPE_OPS(registry) {
  registry.add(clamp_op());
}
