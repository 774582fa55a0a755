// Files of named tensors, as the library safetensors has them. The format is documented at the top
// of safetensors.cpp.
#pragma once

#include "core/files/stored_tensor.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct NamedType {
  std::string name;
  TensorType type;
};

// What a file says about itself, or nothing.
using Metadata = std::map<std::string, std::string>;

// The header of a file.
class SafetensorsHeader {
 public:
  // Throws a usage Error, with the file as its place, if the header isn't one, or doesn't say for
  // each byte of the values which tensor it belongs to. Doesn't look at the file's end.
  explicit SafetensorsHeader(const InputFile& file);

  // Throws a usage Error if there is no tensor of this name, or if it isn't of float32, float64,
  // int32 or int64, has no elements, or too many. `file` must be the one of the header.
  StoredTensor find(const InputFile& file, std::string_view name) const;
  // In the order of their values.
  std::vector<std::string> names() const;
  const Metadata& about() const { return about_; }
  // Where the last tensor ends, in bytes from the start of the file.
  std::uint64_t end() const { return end_; }

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // of the values, in bytes from the start of the first tensor's
    std::uint64_t end = 0;
  };
  void check_order(const InputFile& file) const;

  std::map<std::string, Entry, std::less<>> entries_;
  Metadata about_;
  std::uint64_t values_ = 0;  // where the first tensor begins
  std::uint64_t end_ = 0;
};

// All that comes before the values, which follow in this order without gaps. Throws a usage Error
// without a place if a name occurs twice, is none that a tensor can have, or isn't UTF-8.
std::string safetensors_header(std::span<const NamedType> tensors, const Metadata& about = {});

}  // namespace troupe
