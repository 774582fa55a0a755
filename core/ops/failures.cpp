#include "core/ops/failures.hpp"

#include <fmt/format.h>

namespace troupe {

Error not_positive_definite(std::int64_t rows) {
  return run_error(
      fmt::format("the matrix is not positive definite: its first {} rows and columns have no "
                  "Cholesky factor",
                  rows),
      "only symmetric matrices whose eigenvalues are all positive have one");
}

Error no_class(std::int64_t row) {
  return run_error(fmt::format("the label of row {} is no class", row),
                   "labels are whole numbers from 0 to the number of classes less one");
}

Error no_such_element(std::int64_t place) {
  return run_error(
      fmt::format("the element number at place {} is out of range", place),
      "places and elements count from 0, so numbers are less than the extent of the axis");
}

}  // namespace troupe
