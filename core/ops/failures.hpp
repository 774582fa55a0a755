// Errors of ops that are found while they are computed, for the kernels of every kind of device.
#pragma once

#include "core/base/error.hpp"

#include <cstdint>

namespace troupe {

// Of potrf. `rows` is LAPACK's `info`: the size of the first leading square without a factor.
Error not_positive_definite(std::int64_t rows);

// Of the cross entropy, where it isn't known what the label is.
Error no_class(std::int64_t row);

// Of take and index_add, where it isn't known what the number is: that at `place`, from 0 and along
// all axes, is none of an element.
Error no_such_element(std::int64_t place);

}  // namespace troupe
