// The bytes of .npy and .safetensors files, right or wrong, made without the code under test.
#pragma once

#include "core/files/data_file.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

inline std::string little_endian(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xFF);
  return text;
}

// A .npy file of version 1.0 with this header, not padded.
inline std::string npy_bytes(std::string_view header, std::string_view values = "") {
  return "\x93NUMPY\x01" + std::string(1, '\0') + little_endian(header.size(), 2) +
         std::string(header) + std::string(values);
}

inline std::string npy_of(std::string_view descr, std::string_view shape,
                          std::string_view values = "") {
  return npy_bytes("{'descr': '" + std::string(descr) +
                       "', 'fortran_order': False, 'shape': " + std::string(shape) + "}\n",
                   values);
}

inline std::string safetensors_bytes(std::string_view header, std::string_view values = "") {
  return little_endian(header.size(), 8) + std::string(header) + std::string(values);
}

inline std::vector<std::byte> values_of(const FileTensor& tensor) {
  std::vector<std::byte> values(tensor.type.bytes());
  tensor.values->read(0, values);
  return values;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace troupe::testing
