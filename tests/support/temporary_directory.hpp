// A temporary directory for a test. The destructor removes it.
#pragma once

#include "core/memory/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace troupe::testing {

class TemporaryDirectory {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }

  void write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << text;
  }
  std::size_t entries() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path())) ++n;
    return n;
  }

 private:
  ScratchFolder folder_{""};
};

}  // namespace troupe::testing
