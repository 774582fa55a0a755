// A workspace for real runs that are watched from outside.
#pragma once

#include "tests/support/workspace.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

namespace troupe::testing {

// The beginning of a run file: a machine of one device, with storage in the directory "store".
inline const std::string machine_with_storage =
    "machine:\n"
    "  devices: {cpu0: {kind: cpu, memory: host}}\n"
    "  memories:\n"
    "    host: {size: 1 GiB}\n"
    "    disk: {kind: storage, directory: store}\n"
    "  links: {ssd: {between: [host, disk], bandwidth: 1 GB/s}}\n";

// A workspace with the files of data/ and a directory for the storage that they name.
class RunWorkspace : public Workspace {
 public:
  RunWorkspace() {
    for (const auto& entry :
         std::filesystem::directory_iterator(TROUPE_SOURCE_DIR "/tests/system/data")) {
      std::filesystem::copy_file(entry.path(), path() / entry.path().filename());
    }
    std::filesystem::create_directory(path() / "store");
  }

  // Files of tensors that are there now.
  std::size_t tensor_files() const {
    std::size_t n = 0;
    std::error_code gone;  // the program removes folders meanwhile
    for (std::filesystem::recursive_directory_iterator it(path() / "store", gone), end;
         it != end && !gone; it.increment(gone)) {
      if (it->is_regular_file(gone)) ++n;
    }
    return n;
  }
  std::size_t store_folders() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path() / "store"), {}));
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  nlohmann::json report() const { return nlohmann::json::parse(read("report.json")); }
};

}  // namespace troupe::testing
