// The same op for run files: troupe run clamp.yaml --ops libclamp.so
#include "examples/custom_op/clamp.hpp"
#include "troupe/troupe.hpp"

TROUPE_OPS(registry) {
  registry.add(clamp_op());
}
