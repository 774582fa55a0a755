// What the header of a file says about a tensor.
#pragma once

#include "core/base/error.hpp"
#include "core/files/input_file.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

struct StoredTensor {
  TensorType type;
  std::uint64_t offset = 0;  // of the values, in bytes from the start of the file
};

// A usage Error with the file as its place.
Error bad_file(const InputFile& file, const std::string& problem, const std::string& remedy);

// The error of a file that is shorter than its format says; `part` as in "its header".
Error cut_short(const InputFile& file, const std::string& part);

// A part of its header. Throws cut_short() if the file ends before.
std::string header_text(const InputFile& file, std::uint64_t offset, std::uint64_t bytes);

// The number of these bytes, of which the first is the least significant.
std::uint64_t little_endian(std::string_view bytes);

// The type of a tensor with these extents. Throws bad_file() if there can be none.
TensorType stored_type(const InputFile& file, DType dtype, std::span<const std::uint64_t> extents);

}  // namespace troupe
