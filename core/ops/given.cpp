// given: a tensor whose values come from the program, not from an op.
#include "core/ops/builtin.hpp"

namespace troupe {

OpKind given_op() {
  return {.name = "given tensor",
          .summary = "values that the program gives",
          .declares_type = true,
          .is_given = true,
          .takes_integers = true,
          .type = [](const OpSignature& op) { return op.declared; },
          .work = [](const OpSignature&, const TensorType&) { return Work{}; }};
}

}  // namespace troupe
