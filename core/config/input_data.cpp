#include "core/config/input_data.hpp"

#include "core/base/text.hpp"
#include "core/config/values.hpp"
#include "core/files/data_file.hpp"

#include <system_error>

#include <fmt/format.h>

namespace troupe {
namespace {

bool is_absent(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
}

}  // namespace

Error error_of_file(const Error& error, const std::filesystem::path& path,
                    const SourcePlace& place) {
  return {error.kind(), place, fmt::format("'{}': {}", visible(path.string()), error.problem()),
          error.remedy()};
}

const InputData& InputDataTable::open(const Node& node, const std::string& what) {
  const std::filesystem::path path =
      (folder_ / read_string(node, what, "the path of a .npy or .safetensors file"))
          .lexically_normal();
  const auto [known, is_new] = by_path_.emplace(path.string(), files_.size());
  if (!is_new) return files_[known->second];
  InputData data{.path = path, .file = nullptr, .place = node.place()};
  try {
    format_of(path);
    if (!is_absent(path)) data.file = std::make_shared<const DataFile>(path);
  } catch (const Error& error) {
    throw error_of_file(error, path, node.place());
  }
  files_.push_back(std::move(data));
  return files_.back();
}

}  // namespace troupe
