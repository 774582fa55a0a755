// The files of tensors that a run file reads, each opened once.
#pragma once

#include "core/base/error.hpp"
#include "core/config/document.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

class DataFile;

struct InputData {
  std::filesystem::path path;
  std::shared_ptr<const DataFile> file;  // null if there is no such file
  SourcePlace place;                     // where the run file names it first
};

// "'x.npy': " and the problem of `error`, at `place`.
Error error_of_file(const Error& error, const std::filesystem::path& path,
                    const SourcePlace& place);

class InputDataTable {
 public:
  // Paths are relative to this folder.
  explicit InputDataTable(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The file that `node` names. Opens it and reads its header, unless that was done. Throws a usage
  // Error at the node, but not if there is no such file. The reference is valid until the next
  // call.
  const InputData& open(const Node& node, const std::string& what);
  // All files, in the order they were opened.
  std::vector<InputData> take() { return std::move(files_); }

 private:
  std::filesystem::path folder_;
  std::vector<InputData> files_;
  std::unordered_map<std::string, std::size_t> by_path_;  // into files_
};

}  // namespace troupe
