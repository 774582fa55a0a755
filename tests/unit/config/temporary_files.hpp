// Files for a test to load, and what loading them says.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {

// A new folder, removed with all it holds at the end of the test.
class TemporaryFiles {
 public:
  TemporaryFiles();
  ~TemporaryFiles();
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  // Writes a file, in a folder that is made where needed, and returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const;
  // The text of the usage Error that `load` throws, without the folder; "" where it throws none.
  std::string error_of(const std::function<void()>& load) const;

 private:
  std::filesystem::path folder_;
};

// The error of loading a file with this text, called "machine.yaml" or "run.yaml".
std::string machine_error(std::string_view text);
std::string run_error_of(std::string_view text);

}  // namespace troupe
