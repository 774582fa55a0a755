#include "tests/unit/config/temporary_files.hpp"

#include "core/base/error.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"

#include <fstream>

#include <boost/test/unit_test.hpp>
#include <stdlib.h>

namespace troupe {

TemporaryFiles::TemporaryFiles() {
  std::string name = (std::filesystem::temp_directory_path() / "troupe-config-XXXXXX").string();
  BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
  folder_ = name;
}

TemporaryFiles::~TemporaryFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::filesystem::path TemporaryFiles::write(const std::filesystem::path& name,
                                            std::string_view text) const {
  std::filesystem::path path = folder_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string TemporaryFiles::error_of(const std::function<void()>& load) const {
  try {
    load();
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::usage));
    std::string text = error.what();
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }
  return {};
}

std::string machine_error(std::string_view text) {
  const TemporaryFiles files;
  const auto path = files.write("machine.yaml", text);
  return files.error_of([&] { load_machine_file(path); });
}

std::string run_error_of(std::string_view text) {
  const TemporaryFiles files;
  const auto path = files.write("run.yaml", text);
  return files.error_of([&] { load_run_file(path); });
}

}  // namespace troupe
