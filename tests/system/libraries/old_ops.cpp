// What a library of ops for an older Troupe looks like.
#include "core/ops/op_library.hpp"

extern "C" {
extern const troupe::OpLibrary troupe_op_library;
const troupe::OpLibrary troupe_op_library = {"0.0.9", [](troupe::OpRegistry&) {}};
}
