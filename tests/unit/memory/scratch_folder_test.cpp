// Temporary folders, and what becomes of them when a process is killed.
#include "core/memory/scratch_folder.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>
#include <unistd.h>

using troupe::ScratchFolder;

BOOST_AUTO_TEST_SUITE(scratch_folder)
namespace {

namespace fs = std::filesystem;

// A process that has made a folder in `parent`, with a file in it, and then was killed.
fs::path folder_of_killed(const fs::path& parent) {
  const pid_t process = fork();
  if (process == 0) {
    const ScratchFolder folder(parent);
    std::ofstream(folder.path() / "tensor") << "values";
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(process, &status, 0) == process);
  BOOST_REQUIRE(WIFSIGNALED(status));
  for (const auto& entry : fs::directory_iterator(parent)) {
    if (fs::exists(entry.path() / "tensor")) return entry.path();
  }
  return {};
}

struct Parent {
  ScratchFolder folder{""};
  const fs::path& path = folder.path();
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_has_left_goes_when_another_one_begins, Parent) {
  const fs::path left = folder_of_killed(path);
  BOOST_REQUIRE(fs::exists(left));
  const ScratchFolder next(path);
  BOOST_TEST(!fs::exists(left));
  BOOST_TEST(fs::exists(next.path()));
}

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_has_left_goes_when_another_one_ends, Parent) {
  std::optional<ScratchFolder> other(path);
  const fs::path left = folder_of_killed(path);
  BOOST_REQUIRE(fs::exists(left));
  other.reset();
  BOOST_TEST(!fs::exists(left));
}

BOOST_FIXTURE_TEST_CASE(folders_in_use_and_those_of_other_programs_stay, Parent) {
  for (const char* const name :
       {"troupe-4711-0123456789abcdef", "troupe-storage-4711",
        "troupe-storage-4711-0123456789abcde", "troupe-storage-x-0123456789abcdef",
        "other-storage-4711-0123456789abcdef", "troupe-storage-4711-0123456789abcdeg"}) {
    fs::create_directory(path / name);
  }
  std::ofstream(path / "troupe-storage-4711-0123456789abcdef") << "a file";
  const ScratchFolder one(path);
  { const ScratchFolder other(path); }
  BOOST_TEST(fs::exists(one.path()));
  BOOST_TEST(std::distance(fs::directory_iterator(path), {}) == 8);
}

BOOST_FIXTURE_TEST_CASE(a_folder_of_another_process_that_lives_stays, Parent) {
  int to_child[2];
  int from_child[2];
  BOOST_REQUIRE((pipe(to_child) == 0 && pipe(from_child) == 0));
  const pid_t process = fork();
  char byte = 0;
  if (process == 0) {
    close(to_child[1]);
    const ScratchFolder folder(path);
    std::ofstream(folder.path() / "tensor") << "values";
    static_cast<void>(!write(from_child[1], &byte, 1));
    static_cast<void>(!read(to_child[0], &byte, 1));  // until its parent closes the pipe
    _exit(fs::exists(folder.path() / "tensor") ? 0 : 1);
  }
  BOOST_REQUIRE(read(from_child[0], &byte, 1) == 1);
  { const ScratchFolder other(path); }
  for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(end);
  int status = 0;
  BOOST_REQUIRE(waitpid(process, &status, 0) == process);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_SUITE_END()
