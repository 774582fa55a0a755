#include "core/config/file_tensor.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/text.hpp"
#include "core/config/values.hpp"
#include "core/files/data_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Of a file that isn't there. A simulation never reads it.
class AbsentValues final : public ValueSource {
 public:
  AbsentValues(std::filesystem::path path, std::string tensor, const TensorType& type)
      : path_(std::move(path)), tensor_(std::move(tensor)), type_(type) {}
  void read(std::uint64_t, std::span<std::byte>) const override {
    throw run_error(fmt::format("there is no file '{}'", path_.string()), "check the path");
  }
  std::optional<FileLocation> file() const override {
    return FileLocation{.path = absolute_path(path_).string(), .tensor = tensor_, .type = type_};
  }

 private:
  std::filesystem::path path_;
  std::string tensor_;
  TensorType type_;
};

// The name of the tensor in the file; empty for a file that holds one array.
std::string read_tensor_name(const Node& body, const Node& file, const std::string& what,
                             DataFormat format) {
  const bool has_names = format == DataFormat::safetensors;
  const Node* const tensor = find(body, "tensor");
  if (tensor != nullptr && has_names) {
    return read_string(*tensor, fmt::format("tensor of {}", what),
                       "the name of a tensor in the file");
  }
  if (tensor != nullptr) {
    throw usage_error(tensor->place(),
                      fmt::format("{} names a tensor, and a .npy file holds one array, without a "
                                  "name",
                                  what),
                      "remove `tensor`");
  }
  if (has_names) {
    throw usage_error(file.place(),
                      fmt::format("{} doesn't say which tensor of the file it is", what),
                      "add `tensor:` with the tensor's name");
  }
  return {};
}

[[noreturn]] void refuse_type(const Node& node, std::string_view key, const std::string& what,
                              std::string_view declared, const TensorType& stored) {
  throw usage_error(
      node.place(),
      fmt::format("{} of {} is {}, and the file holds {}", key, what, declared, to_string(stored)),
      fmt::format("correct it, or remove `{}`", key));
}

}  // namespace

FileTensor read_file_tensor(const Node& body, const Node& file, const std::string& what,
                            InputDataTable& inputs) {
  const InputData& data = inputs.open(file, fmt::format("file of {}", what));
  const std::string name = read_tensor_name(body, file, what, format_of(data.path));
  const Node* const shape = find(body, "shape");
  const Node* const dtype = find(body, "dtype");
  TensorType declared;
  if (shape != nullptr) declared.shape = read_shape(*shape, fmt::format("shape of {}", what));
  if (dtype != nullptr) declared.dtype = read_dtype(*dtype, fmt::format("dtype of {}", what));
  if (data.file == nullptr) {
    if (shape != nullptr && dtype != nullptr) {
      return {declared, std::make_shared<const AbsentValues>(data.path, name, declared)};
    }
    throw usage_error(file.place(),
                      fmt::format("'{}': there is no such file", visible(data.path.string())),
                      "check the path; to simulate without the file, give `shape` and `dtype`");
  }
  StoredTensor stored;
  try {
    stored = data.file->find(name);
  } catch (const Error& error) {
    throw error_of_file(error, data.path, file.place());
  }
  if (shape != nullptr && declared.shape != stored.type.shape) {
    refuse_type(*shape, "shape", what, to_string(declared.shape), stored.type);
  }
  if (dtype != nullptr && declared.dtype != stored.type.dtype) {
    refuse_type(*dtype, "dtype", what, to_string(declared.dtype), stored.type);
  }
  return {stored.type, std::make_shared<const FileValues>(data.file, stored, name)};
}

}  // namespace troupe
