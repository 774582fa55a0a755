// Tensors in files that other programs read and write: NumPy's .npy, which holds one array, and
// .safetensors, which holds tensors by name. The ending of a file's name decides which it is.
#pragma once

#include "core/files/input_file.hpp"
#include "core/files/safetensors.hpp"
#include "core/files/stored_tensor.hpp"
#include "core/ops/value_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

enum class DataFormat : std::uint8_t { npy, safetensors };

// Throws a usage Error, with the file as its place, if the name ends with neither.
DataFormat format_of(const std::filesystem::path& path);

// The header of the .safetensors file that was opened last: who loads one tensor of a file after
// the other reads it once. Thread-safe.
class LastHeader {
 public:
  // Reads it, unless this is the same file as last time, and was not changed since. That of a file
  // that was changed in the second before `now` isn't kept. Throws what SafetensorsHeader throws.
  std::shared_ptr<const SafetensorsHeader> of(
      const InputFile& file,
      std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch());

 private:
  std::mutex mutex_;
  InputFile::Version version_;
  std::shared_ptr<const SafetensorsHeader> header_;
};

// A file of tensors that is read. Thread-safe.
class DataFile {
 public:
  // Opens the file and reads its header. Throws a usage Error, with the file as its place, if that
  // can't be done or the header isn't what it should be (see npy.hpp and safetensors.hpp).
  explicit DataFile(const std::filesystem::path& path, LastHeader* last = nullptr);

  // What the header says about a tensor. `name` must be empty for .npy, and a tensor's name for
  // .safetensors; otherwise throws a usage Error.
  StoredTensor find(std::string_view name = {}) const;
  // Throws a usage Error if the file is shorter or longer than its header says.
  void check_size() const;
  const InputFile& bytes() const { return file_; }
  // Of .safetensors; else null.
  const SafetensorsHeader* header() const { return by_name_.get(); }

 private:
  InputFile file_;
  std::optional<StoredTensor> array_;                 // of .npy
  std::shared_ptr<const SafetensorsHeader> by_name_;  // of .safetensors
};

// The values of one tensor of a file: read whenever an op needs them, or used in the mapped file.
class FileValues final : public ValueSource {
 public:
  // `tensor` must be what file->find(name) returned.
  FileValues(std::shared_ptr<const DataFile> file, const StoredTensor& tensor,
             std::string_view name = {})
      : file_(std::move(file)), tensor_(tensor), name_(name) {}
  std::shared_ptr<const std::byte> existing() const override;
  void read(std::uint64_t offset, std::span<std::byte> out) const override;
  std::optional<FileLocation> file() const override;

 private:
  std::shared_ptr<const DataFile> file_;
  StoredTensor tensor_;
  std::string name_;
};

struct FileTensor {
  TensorType type;
  std::shared_ptr<const ValueSource> values;
};

// The type of a tensor in a file. Reads the header only. Throws what DataFile throws.
TensorType inspect_tensor(const std::filesystem::path& path, std::string_view name = {});
// Opens the file, which stays open as long as the values are used, without reading them. Throws
// what DataFile throws.
FileTensor open_tensor(const std::filesystem::path& path, std::string_view name = {},
                       LastHeader* last = nullptr);
// Open files by path.
using OpenFiles = std::map<std::string, std::shared_ptr<const DataFile>, std::less<>>;
// Opens a file that another process has found, unless it is in `files`, and adds it to them. Throws
// a run Error, with the file as its place, if there is none or if it isn't the same.
std::shared_ptr<const ValueSource> open_values(const FileLocation& location, OpenFiles& files);
struct SaveOptions {
  Metadata about = {};      // of .safetensors
  bool is_durable = false;  // see OutputFile::commit()
};
// Throws a usage Error if there is something that is no regular file, such as a pipe.
void check_no_other(const std::filesystem::path& path);
// Writes tensors, of which .npy takes one. `values(i)` returns the values of tensors[i]; each must
// stay valid until the next call. The file appears only when it is complete. Blocks. Throws a usage
// Error if there can't be such a file, a run Error if it can't be written to its end, and what
// `values` throws.
void save_tensors(const std::filesystem::path& path, std::span<const NamedType> tensors,
                  const std::function<std::span<const std::byte>(std::size_t)>& values,
                  const SaveOptions& options = {});

}  // namespace troupe
