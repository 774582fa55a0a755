// The direction of includes (docs/architecture.md): what each room may know. A source file or a
// header that isn't covered by these two tables is an error too.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace {

using Names = std::vector<std::string_view>;

struct Room {
  std::string_view folder;
  Names may_include;  // and whatever these may include
};

const std::vector<Room> rooms{
    {"core/base", {}},
    {"core/ops", {"core/base"}},
    {"core/graph", {"core/ops"}},
    {"core/patterns", {"core/graph"}},
    {"core/machine", {"core/base"}},
    {"core/cost", {"core/graph", "core/machine"}},
    {"core/plan", {"core/cost"}},
    {"core/run", {"core/plan"}},
    {"core/backend", {"core/cost"}},
    {"core/trace", {"core/base"}},
    {"core/result", {"core/run", "core/backend", "core/trace"}},
    {"core/config", {"core/patterns", "core/machine"}},
    {"actors", {"core/result", "core/config"}},
    {"apps", {"actors"}},
    {"examples", {"actors"}},
    {"bench", {"actors"}},
    {"tests", {"actors", "apps", "bench"}},
};

struct Library {
  std::string_view name;
  Names headers;  // or how they begin
  Names rooms;    // that may include it; tests may include everything
};

const Names everywhere{""};
const std::vector<Library> libraries{
    {"fmt", {"fmt/"}, everywhere},
    {"CBLAS", {"cblas.h"}, {"core/ops"}},
    {"hwloc", {"hwloc.h", "hwloc/"}, {"core/machine"}},
    {"xxHash", {"xxhash.h", "xxh_x86dispatch.h"}, {"core/backend"}},
    {"yaml-cpp", {"yaml-cpp/"}, {"core/config"}},
    {"nlohmann-json", {"nlohmann/"}, {"core/trace", "bench"}},
    {"CAF", {"caf/"}, {"actors"}},
    {"CLI11", {"CLI/"}, {"apps", "bench"}},
    {"Boost.Test", {"boost/test/"}, {}},
    {"Google Benchmark", {"benchmark/"}, {"bench"}},
    {"oneTBB", {"oneapi/tbb/"}, {"bench"}},
    {"OpenMP", {"omp.h"}, {"bench"}},
    {"StarPU", {"starpu.h"}, {"bench"}},
    {"SimGrid", {"simgrid/"}, {"bench"}},
    {"the system's C library",
     {"dirent.h", "dlfcn.h", "fcntl.h", "malloc.h", "poll.h", "pthread.h", "pty.h", "sched.h",
      "signal.h", "stdlib.h", "sys/", "termios.h", "unistd.h"},
     {"core/base", "core/machine", "core/backend", "core/ops", "apps", "bench"}},
    {"the processor's instructions", {"x86intrin.h"}, {"actors"}},
};

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Room* room_of(std::string_view path) {
  const auto found = std::find_if(rooms.begin(), rooms.end(), [&](const Room& r) {
    return path.starts_with(r.folder) && path.substr(r.folder.size()).starts_with('/');
  });
  return found == rooms.end() ? nullptr : &*found;
}

bool may_include(const Room& from, const Room& to) {
  if (&from == &to || contains(from.may_include, to.folder)) return true;
  return std::any_of(rooms.begin(), rooms.end(), [&](const Room& between) {
    return contains(from.may_include, between.folder) && may_include(between, to);
  });
}

// What is wrong with `file` (relative to the root) including `header` (with its quotes or angle
// brackets); empty where nothing is.
std::string objection(std::string_view file, std::string_view header) {
  const Room* from = room_of(file);
  if (from == nullptr) return fmt::format("{} is in no room", file);
  const std::string_view name = header.substr(1, header.size() - 2);
  if (header.front() == '"') {
    const Room* to = room_of(name);
    if (to == nullptr) return fmt::format("{}: {} is in no room", file, header);
    if (may_include(*from, *to)) return {};
    return fmt::format("{}: {} may not include {}", file, from->folder, header);
  }
  if (name.find_first_of("./") == std::string_view::npos) return {};  // the standard library
  for (const Library& library : libraries) {
    const bool found = std::any_of(library.headers.begin(), library.headers.end(),
                                   [&](std::string_view h) { return name.starts_with(h); });
    if (!found) continue;
    if (from->folder == "tests" || library.rooms == everywhere ||
        contains(library.rooms, from->folder)) {
      return {};
    }
    return fmt::format("{}: {} may not use {} ({})", file, from->folder, library.name, header);
  }
  return fmt::format("{}: {} belongs to no known library", file, header);
}

// The header of an #include line, with its quotes or angle brackets; empty for other lines.
std::string_view included(std::string_view line) {
  const auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return {};
  const std::size_t end = line.find(line.front() == '"' ? '"' : '>', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
}

// Every source file below `root`, relative to it. Leaves out hidden folders and build/.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& root) {
  constexpr std::string_view extensions[] = {".cpp", ".hpp", ".c", ".h", ".cc", ".cu", ".cuh"};
  std::vector<std::filesystem::path> files;
  for (std::filesystem::recursive_directory_iterator it(root), end; it != end; ++it) {
    const std::filesystem::path path = it->path().lexically_relative(root);
    const std::string name = path.filename().string();
    if (it->is_directory()) {
      if (name.starts_with('.') || path == "build") it.disable_recursion_pending();
    } else if (std::ranges::find(extensions, path.extension().string()) != std::end(extensions)) {
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(include_directions)

BOOST_AUTO_TEST_CASE(every_file_includes_only_what_its_room_may_know) {
  const std::filesystem::path root = TROUPE_SOURCE_DIR;
  const std::vector<std::filesystem::path> files = source_files(root);
  BOOST_TEST(files.size() > 50);
  for (const std::filesystem::path& file : files) {
    const std::string name = file.generic_string();
    BOOST_TEST(room_of(name) != nullptr, name + " is in no room");
    std::ifstream lines(root / file);
    for (std::string line; std::getline(lines, line);) {
      const std::string_view header = included(line);
      if (header.empty()) continue;
      const std::string wrong = objection(name, header);
      BOOST_TEST(wrong.empty(), wrong);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_room_may_include_what_it_stands_on) {
  BOOST_TEST(objection("core/plan/policies/heft.cpp", "\"core/base/id.hpp\"") == "");
  BOOST_TEST(objection("core/plan/policies/heft.cpp", "\"core/plan/plan.hpp\"") == "");
  BOOST_TEST(objection("apps/troupe/main.cpp", "\"core/config/run_file.hpp\"") == "");
  BOOST_TEST(objection("core/base/units.cpp", "<charconv>") == "");
  BOOST_TEST(objection("core/base/units.cpp", "<fmt/format.h>") == "");
  BOOST_TEST(objection("actors/runner.cpp", "<caf/all.hpp>") == "");
  BOOST_TEST(objection("tests/unit/trace/json_test.cpp", "<nlohmann/json.hpp>") == "");
}

BOOST_AUTO_TEST_CASE(an_include_against_the_direction_is_found) {
  BOOST_TEST(objection("core/base/id.hpp", "\"core/graph/graph.hpp\"") ==
             "core/base/id.hpp: core/base may not include \"core/graph/graph.hpp\"");
  BOOST_TEST(objection("core/run/device_logic.cpp", "\"actors/messages.hpp\"") != "");
  BOOST_TEST(objection("core/trace/gantt.cpp", "\"core/machine/machine.hpp\"") != "");
  BOOST_TEST(objection("actors/runner.cpp", "\"apps/troupe/commands.hpp\"") != "");
  BOOST_TEST(objection("actors/runner.cpp", "\"tests/support/samples.hpp\"") != "");
}

BOOST_AUTO_TEST_CASE(a_library_in_the_wrong_room_is_found) {
  BOOST_TEST(objection("core/run/device_logic.cpp", "<caf/all.hpp>") ==
             "core/run/device_logic.cpp: core/run may not use CAF (<caf/all.hpp>)");
  BOOST_TEST(objection("core/graph/graph.cpp", "<yaml-cpp/yaml.h>") != "");
  BOOST_TEST(objection("core/backend/openblas/gemm.cpp", "<cblas.h>") != "");
  BOOST_TEST(objection("core/plan/plan.cpp", "<unistd.h>") != "");
}

BOOST_AUTO_TEST_CASE(what_no_table_knows_is_found) {
  BOOST_TEST(objection("core/attic/old.cpp", "<vector>") == "core/attic/old.cpp is in no room");
  BOOST_TEST(objection("core/baseline.cpp", "<vector>") != "");
  BOOST_TEST(objection("core/graph/graph.cpp", "\"graph.hpp\"") != "");
  BOOST_TEST(objection("core/graph/graph.cpp", "<tbb/tbb.h>") ==
             "core/graph/graph.cpp: <tbb/tbb.h> belongs to no known library");
}

BOOST_AUTO_TEST_CASE(include_lines_are_recognised_however_they_are_spaced) {
  BOOST_TEST(included("#include <vector>") == "<vector>");
  BOOST_TEST(included("  #\tinclude\"core/a/b.hpp\"  // why") == "\"core/a/b.hpp\"");
  BOOST_TEST(included("// #include <vector>") == "");
  BOOST_TEST(included("#define X") == "");
  BOOST_TEST(included("#include") == "");
}

BOOST_AUTO_TEST_SUITE_END()
