// A library of ops that doesn't get to add them.
#include "core/ops/op_library.hpp"

#include <stdexcept>

TROUPE_OPS(registry) {
  if (registry.size() > 0) throw std::runtime_error("there is no day for it");
}
