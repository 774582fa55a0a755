#include "core/files/stored_tensor.hpp"

#include <vector>

#include <fmt/format.h>

namespace troupe {

Error bad_file(const InputFile& file, const std::string& problem, const std::string& remedy) {
  return usage_error({file.path().string()}, problem, remedy);
}

Error cut_short(const InputFile& file, const std::string& part) {
  return bad_file(file, fmt::format("the file ends within {}: it has {} bytes", part, file.bytes()),
                  "it was cut short: save or copy it again");
}

std::string header_text(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > file.bytes() || bytes > file.bytes() - offset) throw cut_short(file, "its header");
  std::string text(bytes, '\0');
  file.read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

TensorType stored_type(const InputFile& file, DType dtype, std::span<const std::uint64_t> extents) {
  try {
    std::vector<std::int64_t> shape;
    for (const std::uint64_t extent : extents) shape.push_back(Extent(extent).value);
    return {dtype, Shape(shape)};
  } catch (const Error& error) {
    throw bad_file(file, error.problem(), error.remedy());
  }
}

}  // namespace troupe
