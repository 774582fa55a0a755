// A folder for a program under test to work in.
#pragma once

#include "tests/support/program.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

// The program's working directory is this folder, and its temporary files are below it.
class Workspace {
 public:
  Workspace();

  const std::filesystem::path& path() const { return folder_.path(); }
  void write(const std::filesystem::path& name, std::string_view text) const {
    folder_.write(name, text);
  }
  std::string read(const std::filesystem::path& name) const;
  ProgramOptions options() const;
  // Runs troupe in this folder. Blocks until it has ended.
  Finished run(const std::vector<std::string>& arguments) const;
  // Every file and folder below path(), with its content and time of modification.
  std::map<std::string, std::string> snapshot() const;

 private:
  TemporaryDirectory folder_;
};

// The command that runs `command` with a tmpfs at `folder`, with these mount options. Only
// `command` sees the tmpfs. Requires can_mount().
std::vector<std::string> with_tmpfs(const std::filesystem::path& folder,
                                    const std::string& mount_options,
                                    const std::vector<std::string>& command);

// Preconditions for Boost.Test: a test whose precondition doesn't hold is reported as skipped.
boost::test_tools::assertion_result can_mount(boost::unit_test::test_unit_id);
boost::test_tools::assertion_result obeys_permissions(boost::unit_test::test_unit_id);

}  // namespace troupe::testing
