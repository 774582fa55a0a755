// NumPy's .npy files, which hold one array each. The format is documented at the top of npy.cpp.
#pragma once

#include "core/files/stored_tensor.hpp"

#include <string>

namespace troupe {

// Reads the header. Throws a usage Error, with the file as its place, if it is no header of
// versions 1 to 3, or if the array can't be a tensor: Fortran order, big-endian, not of float32,
// float64, int32 or int64, without elements, or with too many. Doesn't look at the file's end.
StoredTensor read_npy_header(const InputFile& file);

// All that comes before the values of a tensor.
std::string npy_header(const TensorType& type);

}  // namespace troupe
