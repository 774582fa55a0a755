// Temporary files and folders go with the program, whenever a signal ends it.
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <unistd.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(temporary_files)
namespace {

// The command that runs `command` and sends it SIGQUIT at the end of its first system call of this
// name, before it executes another instruction.
std::vector<std::string> quit_after(const std::string& call, std::vector<std::string> command) {
  const std::vector<std::string> strace = {"strace",
                                           "-o",
                                           "/dev/null",
                                           "-e",
                                           "trace=" + call,
                                           "-e",
                                           "inject=" + call + ":signal=SIGQUIT:when=1"};
  command.insert(command.begin(), strace.begin(), strace.end());
  return command;
}

bool has_unnamed_files(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

boost::test_tools::assertion_result can_trace(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(
      Program(quit_after("getsid", {"true"})).wait().exit_code == 0);
  result.message() << "there is no strace, or it may not trace";
  return result;
}

}  // namespace

// mkdir makes the folder of a storage; linkat names the file of an output, where the file system
// has files without a name.
BOOST_AUTO_TEST_CASE(a_signal_right_after_a_temporary_file_was_made_leaves_nothing_behind,
                     *boost::unit_test::precondition(can_trace)) {
  for (const char* call : {"?mkdir,mkdirat", "linkat"}) {
    const RunWorkspace workspace;
    if (call == std::string("linkat") && !has_unnamed_files(workspace.path())) continue;
    workspace.write("report.json", "old");
    const std::vector<std::string> before = workspace.files();
    const Finished finished =
        Program(quit_after(call,
                           troupe_command({"run", "storage_fills.yaml", "--json", "report.json"})),
                workspace.options())
            .wait();
    BOOST_TEST_CONTEXT(call << ": " << finished.err) {
      BOOST_TEST(finished.signal == SIGQUIT);
      BOOST_TEST(workspace.store_folders() == 0U);
      std::vector<std::string> after = workspace.files();
      std::erase_if(after, [](const std::string& name) { return name.starts_with("core"); });
      BOOST_TEST(after == before, boost::test_tools::per_element());
      BOOST_TEST(workspace.read("report.json") == "old");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
