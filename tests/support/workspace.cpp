#include "tests/support/workspace.hpp"

#include <fstream>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace troupe::testing {
namespace fs = std::filesystem;

Workspace::Workspace() {
  fs::create_directory(path() / "tmp");
}

std::string Workspace::read(const fs::path& name) const {
  std::ifstream in(path() / name, std::ios::binary);
  std::ostringstream content;  // many times faster than characters one by one, not optimised
  content << in.rdbuf();
  return std::move(content).str();
}

ProgramOptions Workspace::options() const {
  return {.environment = {{"TMPDIR", (path() / "tmp").string()}}, .directory = path()};
}

Finished Workspace::run(const std::vector<std::string>& arguments) const {
  return run_troupe(arguments, options());
}

std::map<std::string, std::string> Workspace::snapshot() const {
  std::map<std::string, std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path())) {
    if (entry.is_symlink()) {  // which may lead nowhere
      found[entry.path().string()] = fs::read_symlink(entry.path()).string();
      continue;
    }
    const std::string content = entry.is_regular_file() ? read(entry.path()) : "";
    found[entry.path().string()] =
        std::to_string(entry.last_write_time().time_since_epoch().count()) + " " + content;
  }
  return found;
}

std::vector<std::string> with_tmpfs(const fs::path& folder, const std::string& mount_options,
                                    const std::vector<std::string>& command) {
  std::vector<std::string> result = {
      "unshare", "--mount",     "--map-root-user",
      "sh",      "-c",          "mount -t tmpfs -o \"$1\" tmpfs \"$2\" && shift 2 && exec \"$@\"",
      "sh",      mount_options, folder.string()};
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

boost::test_tools::assertion_result can_mount(boost::unit_test::test_unit_id) {
  static const bool can = [] {
    const Workspace workspace;
    return Program(with_tmpfs(workspace.path(), "size=1m", {"true"})).wait().exit_code == 0;
  }();
  boost::test_tools::assertion_result result(can);
  result.message() << "this process may not mount file systems, not even in a namespace of its own";
  return result;
}

boost::test_tools::assertion_result obeys_permissions(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(geteuid() != 0);
  result.message() << "root may read and write everything";
  return result;
}

}  // namespace troupe::testing
