#include "core/base/temporary_path.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(temporary_paths)

BOOST_AUTO_TEST_CASE(what_is_remembered_is_removed_and_nothing_else) {
  std::string name = (fs::temp_directory_path() / "troupe-test-XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
  const fs::path folder = name;
  fs::create_directory(folder / "kept");
  std::ofstream(folder / "kept" / "file") << "x";
  fs::path forgotten;
  {
    const TemporaryPath full(folder, "full-");
    const TemporaryPath empty(folder, "empty-");
    const TemporaryPath file(folder, "file-");
    const TemporaryPath gone(folder, "gone-");
    fs::create_directory(full.path());
    for (int i = 0; i < 1000; ++i) std::ofstream(full.path() / std::to_string(i)) << "x";
    fs::create_directory(empty.path());
    std::ofstream(file.path()) << "x";
    forgotten = TemporaryPath(folder, "forgotten-").path();
    fs::create_directory(forgotten);
    remove_temporary_paths();
    for (const TemporaryPath* path : {&full, &empty, &file, &gone}) {
      BOOST_TEST(!fs::exists(path->path()));
    }
  }
  BOOST_TEST(fs::exists(folder / "kept" / "file"));
  BOOST_TEST(fs::exists(forgotten));
  remove_temporary_paths();
  BOOST_TEST(fs::exists(forgotten));
  fs::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(two_temporary_paths_in_one_folder_differ) {
  const TemporaryPath a(fs::temp_directory_path(), "troupe-");
  const TemporaryPath b(fs::temp_directory_path(), "troupe-");
  BOOST_TEST(a.path() != b.path());
  BOOST_TEST(a.path().parent_path() == b.path().parent_path());
}

BOOST_AUTO_TEST_SUITE_END()
