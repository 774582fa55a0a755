// A library of ops with a name that is taken.
#include "core/ops/op_library.hpp"

TROUPE_OPS(registry) {
  registry.add({.name = "relu"});
}
