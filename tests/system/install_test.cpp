// Troupe as it is installed: what another project sees of it.
#include "core/base/version.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/workspace.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(install)
namespace {

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The first sample of a page after a line that is "```" and `language`.
std::string sample(const std::string& page, const std::string& language) {
  const std::string fence = fmt::format("\n```{}\n", language);
  const std::size_t begin = page.find(fence);
  BOOST_REQUIRE(begin != page.npos);
  const std::size_t from = begin + fence.size();
  return page.substr(from, page.find("\n```\n", from) + 1 - from);
}

// The files and folders that a page links to, outside of its samples.
std::vector<std::string> links_of(const std::string& page) {
  std::vector<std::string> links;
  bool is_sample = false;
  for (const std::string_view line : lines_of(page)) {
    if (line.find("```") != line.npos) is_sample = !is_sample;
    for (std::size_t at = 0; !is_sample && (at = line.find("](", at)) != line.npos; ++at) {
      const std::string_view link = line.substr(at + 2, line.find(')', at) - at - 2);
      if (link.starts_with('#') || link.find("://") != link.npos) continue;
      links.emplace_back(link.substr(0, link.find('#')));
    }
  }
  return links;
}

// This build, installed in a folder of its own by the first test that needs it.
class Installed : public Workspace {
 public:
  Installed() {
    succeed({CMAKE_PROGRAM, "--install", TROUPE_BUILD_DIR, "--prefix", prefix().string()});
  }
  fs::path prefix() const { return path() / "prefix"; }

  // Runs a command in this folder, and returns its output. The test ends if the command fails.
  std::string succeed(const std::vector<std::string>& command) const {
    const Finished finished = finish(command);
    BOOST_REQUIRE_MESSAGE(finished.exit_code == 0, finished.out + finished.err);
    return finished.out;
  }
  // Builds the project of the front page, in a folder of this name, with this program in place of
  // its own. Returns the program's path.
  std::string build(const std::string& folder, const std::string& program) const {
    const std::string page = read(TROUPE_SOURCE_DIR "/docs/api.md");
    write(folder + "/CMakeLists.txt", sample(page, "cmake"));
    write(folder + "/ten_products.cpp", program);
    succeed({CMAKE_PROGRAM, "-G", "Ninja", "-S", folder, "-B", folder + "/build", "-D",
             "CMAKE_CXX_COMPILER=" CXX_COMPILER,
             fmt::format("-DCMAKE_PREFIX_PATH={}", prefix().string())});
    succeed({CMAKE_PROGRAM, "--build", folder + "/build"});
    return folder + "/build/ten_products";
  }
  Finished finish(const std::vector<std::string>& command) const {
    ProgramOptions given = options();
    given.limit = std::chrono::seconds(300);
    return Program(command, given).wait();
  }
};

const Installed& installed() {
  static const Installed once;
  return once;
}

}  // namespace

BOOST_AUTO_TEST_CASE(
    the_front_page_of_the_library_is_a_project_that_builds_and_prints_what_it_says) {
  const Installed& tree = installed();
  const std::string page = read(TROUPE_SOURCE_DIR "/docs/api.md");
  const std::string program = tree.build("project", sample(page, "cpp"));
  BOOST_TEST(tree.succeed({program}) == sample(page.substr(page.find("It prints")), ""));
}

BOOST_AUTO_TEST_CASE(the_program_of_the_readme_compiles_as_it_stands_and_prints_a_report) {
  const Installed& tree = installed();
  const std::string page = read(TROUPE_SOURCE_DIR "/README.md");
  const std::string printed = tree.succeed({tree.build("readme", sample(page, "cpp"))});
  BOOST_TEST(printed.find("compute and copy") != std::string::npos, printed);
}

BOOST_AUTO_TEST_CASE(installed_examples_are_a_project_that_builds_without_the_source_tree) {
  const Installed& tree = installed();
  const std::string folder = (tree.prefix() / "share/doc/troupe/examples").string();
  tree.succeed({CMAKE_PROGRAM, "-G", "Ninja", "-S", folder, "-B", "examples",
                "-DCMAKE_CXX_COMPILER=" CXX_COMPILER,
                fmt::format("-DCMAKE_PREFIX_PATH={}", tree.prefix().string())});
  tree.succeed({CMAKE_PROGRAM, "--build", "examples", "--target", "example_chapter"});
  const fs::path ctest = fs::path(CMAKE_PROGRAM).parent_path() / "ctest";
  tree.succeed(
      {ctest.string(), "--test-dir", "examples", "-R", "^example_chapter$", "--no-tests=error"});
}

BOOST_AUTO_TEST_CASE(a_debian_package_has_program_library_and_headers_and_names_what_it_needs) {
  const Installed& tree = installed();
  const fs::path cpack = fs::path(CMAKE_PROGRAM).parent_path() / "cpack";
  tree.succeed({cpack.string(), "-G", "DEB", "--config", TROUPE_BUILD_DIR "/CPackConfig.cmake",
                "-B", (tree.path() / "package").string()});
  std::string package;
  for (const auto& entry : fs::directory_iterator(tree.path() / "package")) {
    if (entry.path().extension() == ".deb") package = entry.path().string();
  }
  BOOST_REQUIRE(!package.empty());
  const std::string files = tree.succeed({"dpkg-deb", "--contents", package});
  for (const char* file : {"/bin/troupe", "/libtroupe.so.", "/include/troupe/troupe.hpp",
                           "/cmake/troupe/troupe-config.cmake", "/doc/troupe/docs/run_files.md"}) {
    BOOST_TEST(files.find(file) != std::string::npos, file);
  }
  const std::string needs = tree.succeed({"dpkg-deb", "--field", package, "Depends"});
  for (const char* name : {"libcaf", "libhwloc", "libyaml-cpp", "libstdc++6"}) {
    BOOST_TEST(needs.find(name) != std::string::npos, needs);
  }
}

BOOST_AUTO_TEST_CASE(the_installed_program_finds_its_library_and_its_files) {
  const Installed& tree = installed();
  const std::string program = (tree.prefix() / "bin/troupe").string();
  BOOST_TEST(tree.succeed({program, "--version"}) == fmt::format("troupe {}\n", troupe::version));
  const fs::path file = tree.prefix() / "share/troupe/runs/chapter-1-cpu-gpu.yaml";
  BOOST_TEST(tree.succeed({program, "simulate", file.string()}).find("makespan") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_link_of_an_installed_page_leads_to_what_is_installed) {
  std::size_t links = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(installed().prefix() / "share/doc/troupe")) {
    if (entry.path().extension() != ".md") continue;
    for (const std::string& target : links_of(read(entry.path()))) {
      ++links;
      BOOST_TEST(fs::exists(entry.path().parent_path() / target),
                 fmt::format("{}: {}", entry.path().string(), target));
    }
  }
  BOOST_TEST(links > 50U);
}

// What a public header includes of other libraries, each program that uses Troupe would need.
BOOST_AUTO_TEST_CASE(installed_headers_include_each_other_and_the_standard_library_only) {
  const fs::path folder = installed().prefix() / "include";
  std::size_t headers = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++headers;
    const std::string text = read(entry.path());
    for (const std::string_view line : lines_of(text)) {
      const std::string_view header = included(line);
      if (header.empty()) continue;
      const std::string_view name = header.substr(1, header.size() - 2);
      const bool is_standard =
          name.find_first_of("./") == name.npos || name == "sys/mman.h";  // of the C library
      const bool is_ours = name.starts_with("troupe/") && fs::exists(folder / name);
      BOOST_TEST((header.starts_with('<') && (is_standard || is_ours)),
                 fmt::format("{}: {}", entry.path().string(), header));
    }
  }
  BOOST_TEST(headers > 20U);
  BOOST_TEST(std::distance(fs::directory_iterator(folder), {}) == 1);  // "troupe"
}

BOOST_AUTO_TEST_CASE(a_project_that_needs_another_minor_version_is_refused) {
  const Installed& tree = installed();
  for (const std::string_view wanted : {"0.0", "0.999", "1.0"}) {
    tree.write("other/CMakeLists.txt", fmt::format("cmake_minimum_required(VERSION 3.24)\n"
                                                   "project(other LANGUAGES NONE)\n"
                                                   "find_package(troupe {} REQUIRED)\n",
                                                   wanted));
    const Finished finished =
        tree.finish({CMAKE_PROGRAM, "-S", "other", "-B", fmt::format("other/{}", wanted),
                     fmt::format("-DCMAKE_PREFIX_PATH={}", tree.prefix().string())});
    BOOST_TEST(finished.exit_code == 1);
    BOOST_TEST(finished.err.find(fmt::format("version: {}", troupe::version)) != std::string::npos,
               finished.err);
  }
}

BOOST_AUTO_TEST_SUITE_END()
