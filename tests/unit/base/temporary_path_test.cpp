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
  for (const char* child : {"full", "empty", "kept", "forgotten"}) {
    fs::create_directory(folder / child);
  }
  for (int i = 0; i < 1000; ++i) std::ofstream(folder / "full" / std::to_string(i)) << "x";
  std::ofstream(folder / "file") << "x";
  std::ofstream(folder / "kept" / "file") << "x";
  {
    const TemporaryPath full(folder / "full");
    const TemporaryPath empty(folder / "empty");
    const TemporaryPath file(folder / "file");
    const TemporaryPath gone(folder / "gone");
    { const TemporaryPath forgotten(folder / "forgotten"); }
    remove_temporary_paths();
  }
  BOOST_TEST(!fs::exists(folder / "full"));
  BOOST_TEST(!fs::exists(folder / "empty"));
  BOOST_TEST(!fs::exists(folder / "file"));
  BOOST_TEST(fs::exists(folder / "kept" / "file"));
  BOOST_TEST(fs::exists(folder / "forgotten"));
  remove_temporary_paths();
  BOOST_TEST(fs::exists(folder / "forgotten"));
  fs::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
