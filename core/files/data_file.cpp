#include "core/files/data_file.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/assert.hpp"
#include "core/files/npy.hpp"
#include "core/files/output_file.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace troupe {

DataFormat format_of(const std::filesystem::path& path) {
  if (path.extension() == ".npy") return DataFormat::npy;
  if (path.extension() == ".safetensors") return DataFormat::safetensors;
  throw usage_error({path.string()}, "the name of a file of tensors ends with .npy or .safetensors",
                    "rename it, or convert the file");
}

std::shared_ptr<const SafetensorsHeader> LastHeader::of(const InputFile& file,
                                                        std::chrono::nanoseconds now) {
  {
    const std::lock_guard lock(mutex_);
    if (header_ != nullptr && file.version() == version_) return header_;
  }
  auto header = std::make_shared<const SafetensorsHeader>(file);
  // Clocks of file systems are coarse: who writes again at once may leave the same time.
  if (now - file.version().changed < std::chrono::seconds(1)) return header;
  const std::lock_guard lock(mutex_);
  version_ = file.version();
  header_ = header;
  return header;
}

DataFile::DataFile(const std::filesystem::path& path, LastHeader* last) : file_(path) {
  if (format_of(path) == DataFormat::npy) {
    array_ = read_npy_header(file_);
  } else {
    by_name_ = last != nullptr ? last->of(file_) : std::make_shared<const SafetensorsHeader>(file_);
  }
}

StoredTensor DataFile::find(std::string_view name) const {
  if (by_name_) return by_name_->find(file_, name);
  if (!name.empty()) {
    throw bad_file(file_, "a .npy file holds one array, which has no name", "leave the name out");
  }
  return *array_;
}

void DataFile::check_size() const {
  const std::uint64_t end = by_name_ ? by_name_->end() : array_->offset + array_->type.bytes();
  if (file_.bytes() < end) {
    throw bad_file(file_,
                   fmt::format("the file has {} bytes, and by its header {}", file_.bytes(), end),
                   "it was cut short: save or copy it again");
  }
  if (file_.bytes() > end) {
    throw bad_file(
        file_, fmt::format("the file has {} bytes, and by its header only {}", file_.bytes(), end),
        "its header is wrong, or more was appended: save it again");
  }
}

TensorType inspect_tensor(const std::filesystem::path& path, std::string_view name) {
  return DataFile(path).find(name).type;
}

FileTensor open_tensor(const std::filesystem::path& path, std::string_view name, LastHeader* last) {
  const auto file = std::make_shared<const DataFile>(path, last);
  const StoredTensor tensor = file->find(name);
  file->check_size();
  return {tensor.type, std::make_shared<const FileValues>(file, tensor, name)};
}

std::shared_ptr<const std::byte> FileValues::existing() const {
  if (tensor_.offset % kernel_alignment != 0) return nullptr;
  const std::shared_ptr<const std::byte> mapped = file_->bytes().mapped();
  if (mapped == nullptr) return nullptr;
  return {mapped, mapped.get() + tensor_.offset};
}

void FileValues::read(std::uint64_t offset, std::span<std::byte> out) const {
  const InputFile& file = file_->bytes();
  const std::shared_ptr<const std::byte> in_place = existing();
  if (in_place != nullptr && out.data() == in_place.get() + offset) {
    file.load(tensor_.offset + offset, out.size());
  } else {
    file.read(tensor_.offset + offset, out);
  }
}

std::optional<FileLocation> FileValues::file() const {
  return FileLocation{.path = absolute_path(file_->bytes().path()).string(),
                      .tensor = name_,
                      .type = tensor_.type,
                      .file_bytes = file_->bytes().bytes()};
}

std::shared_ptr<const ValueSource> open_values(const FileLocation& location, OpenFiles& files) {
  const auto refuse = [&](std::string problem, std::string remedy) {
    return Error(ErrorKind::failed, {location.path}, std::move(problem), std::move(remedy));
  };
  std::shared_ptr<const DataFile>& file = files[location.path];
  StoredTensor tensor;
  try {
    if (file == nullptr) file = std::make_shared<const DataFile>(location.path);
    tensor = file->find(location.tensor);
    file->check_size();
  } catch (const Error& error) {
    throw refuse(error.problem(), error.remedy());
  }
  if (tensor.type != location.type) {
    throw refuse(fmt::format("{} is {} here, and {} where the run was started",
                             location.tensor.empty() ? "the array" : "'" + location.tensor + "'",
                             to_string(tensor.type), to_string(location.type)),
                 "copy the file from there");
  }
  const std::uint64_t bytes = file->bytes().bytes();
  if (location.file_bytes != 0 && location.file_bytes != bytes) {
    throw refuse(fmt::format("the file has {} bytes here, and {} where the run was started", bytes,
                             location.file_bytes),
                 "copy the file from there");
  }
  return std::make_shared<const FileValues>(file, tensor, location.tensor);
}

void check_no_other(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_other(path, ignored)) return;
  throw usage_error(fmt::format("can't write '{}': it is no regular file", path.string()),
                    "give another path");
}

void save_tensors(const std::filesystem::path& path, std::span<const NamedType> tensors,
                  const std::function<std::span<const std::byte>(std::size_t)>& values,
                  const SaveOptions& options) {
  const bool is_npy = format_of(path) == DataFormat::npy;
  if (is_npy && tensors.size() != 1) {
    throw usage_error({path.string()},
                      fmt::format("a .npy file holds one array, not {}", tensors.size()),
                      "use .safetensors, or a file for each");
  }
  check_no_other(path);
  OutputFile file(path.string());
  file.stream() << (is_npy ? npy_header(tensors.front().type)
                           : safetensors_header(tensors, options.about));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> bytes = values(i);
    TROUPE_ASSERT(bytes.size() == tensors[i].type.bytes());
    file.stream().write(reinterpret_cast<const char*>(bytes.data()),
                        static_cast<std::streamsize>(bytes.size()));
  }
  file.commit(options.is_durable);
}

}  // namespace troupe
