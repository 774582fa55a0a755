// A library of ops that isn't linked to what it uses.
#include "core/ops/op_library.hpp"

extern "C" int from_elsewhere();

TROUPE_OPS(registry) {
  registry.add({.name = "unlinked", .cpu = [](const troupe::CpuCall&) { from_elsewhere(); }});
}
