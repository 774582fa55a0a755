// The direction of includes (docs/architecture.md): what each room may know. A source file or a
// header that isn't covered by these two tables is an error too.
#include "tests/support/source_tree.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

BOOST_AUTO_TEST_SUITE(include_directions)
namespace {

using namespace troupe::testing;
using Names = std::vector<std::string_view>;

struct Room {
  std::string_view folder;
  Names may_include;  // and whatever these may include
};

const std::vector<Room> rooms{
    {"core/base", {}},
    {"core/network", {"core/base"}},
    {"core/ops", {"core/base"}},
    {"core/files", {"core/ops"}},
    {"core/graph", {"core/ops"}},
    {"core/patterns", {"core/graph"}},
    {"core/machine", {"core/base"}},
    {"core/cost", {"core/graph", "core/machine"}},
    {"core/plan", {"core/cost"}},
    {"core/run", {"core/plan"}},
    {"core/memory", {"core/graph", "core/machine"}},
    {"core/backend", {"core/memory", "core/cost", "core/network"}},
    {"core/trace", {"core/base"}},
    {"core/result", {"core/run", "core/backend", "core/trace", "core/files"}},
    {"core/config", {"core/patterns", "core/machine", "core/files"}},
    {"actors", {"core/result", "core/config", "core/network"}},
    {"troupe", {"actors"}},
    {"apps", {"actors"}},
    {"examples", {"troupe"}},
    {"bench", {"actors", "apps", "examples"}},
    {"tests", {"troupe", "apps", "bench", "examples"}},
};

struct Library {
  std::string_view name;
  std::string_view package;  // of Debian, in tools/prepare.sh; empty: users install it themselves
  Names headers;             // or how they begin
  Names rooms;               // that may include it, or get it by headers; tests may all
};

const Names everywhere{""};
const std::vector<Library> libraries{
    {"fmt", "libfmt-dev", {"fmt/"}, everywhere},
    {"CBLAS", "libopenblas-dev", {"cblas.h"}, {"core/ops", "bench"}},
    {"hwloc", "libhwloc-dev", {"hwloc.h", "hwloc/"}, {"core/machine"}},
    {"OpenSSL", "libssl-dev", {"openssl/"}, {"core/network"}},
    {"UCX", "libucx-dev", {"ucp/", "ucs/"}, {"core/network"}},
    {"PMIx", "libpmix-dev", {"pmix.h"}, {"apps"}},
    {"xxHash", "libxxhash-dev", {"xxhash.h", "xxh_x86dispatch.h"}, {"core/memory"}},
    {"yaml-cpp", "libyaml-cpp-dev", {"yaml-cpp/"}, {"core/config"}},
    {"nlohmann-json", "nlohmann-json3-dev", {"nlohmann/"}, {"core/trace", "core/files", "bench"}},
    {"CAF", "libcaf-dev", {"caf/"}, {"actors"}},
    {"CLI11", "libcli11-dev", {"CLI/"}, {"apps", "bench"}},
    {"Boost.Test", "libboost-test-dev", {"boost/test/"}, {}},
    {"oneTBB", "libtbb-dev", {"oneapi/tbb/"}, {"bench"}},
    {"OpenMP", "g++", {"omp.h"}, {"bench"}},
    {"StarPU", "libstarpu-dev", {"starpu.h"}, {"bench"}},
    {"SimGrid", "libsimgrid-dev", {"simgrid/"}, {"bench"}},
    {"Open MPI", "libopenmpi-dev", {"mpi.h"}, {"bench"}},
    {"StarPU-MPI", "libstarpu-dev", {"starpu_mpi.h"}, {"bench"}},
    {"the system's C library",
     "g++",
     {"arpa/inet.h", "dirent.h", "dlfcn.h",        "elf.h",          "execinfo.h",    "fcntl.h",
      "ifaddrs.h",   "link.h",   "linux/filter.h", "linux/if_tun.h", "linux/magic.h", "malloc.h",
      "net/if.h",    "netdb.h",  "netinet/",       "poll.h",         "pthread.h",     "pty.h",
      "sched.h",     "signal.h", "spawn.h",        "stdlib.h",       "sys/",          "termios.h",
      "ucontext.h",  "unistd.h"},
     {"core/base", "core/files", "core/machine", "core/memory", "core/backend", "core/network",
      "core/ops", "apps", "bench"}},
    {"the compiler's run-time library", "g++", {"cxxabi.h"}, {}},
    {"CUDA",
     "",
     {"cublas_v2.h", "cuda_runtime_api.h", "cusolverDn.h", "nvtx3/"},
     {"core/backend", "bench"}},
    {"the processor's instructions", "g++", {"x86intrin.h"}, {"actors"}},
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

// What each file includes, with quotes or angle brackets.
using Includes = std::map<std::string, std::vector<std::string>, std::less<>>;

// What is wrong with what `file` gets through the headers of this repository that it includes;
// empty where nothing is.
std::string objection_to_headers(const std::string& file, const Includes& includes) {
  std::set<std::string_view> seen;
  std::vector<std::string_view> waiting{file};
  while (!waiting.empty()) {
    const std::string_view path = waiting.back();
    waiting.pop_back();
    const auto found = includes.find(path);
    if (found == includes.end() || !seen.insert(path).second) continue;
    for (const std::string& header : found->second) {
      if (header.front() == '"') {
        waiting.push_back(std::string_view(header).substr(1, header.size() - 2));
      } else if (path != file) {
        const std::string wrong = objection(file, header);
        if (!wrong.empty()) return fmt::format("{}, by {}", wrong, path);
      }
    }
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_file_includes_only_what_its_room_may_know) {
  std::size_t files = 0;
  for (const SourceFile& file : source_tree(TROUPE_SOURCE_DIR)) {
    if (!is_cpp(file.path)) continue;
    ++files;
    BOOST_TEST(room_of(file.path) != nullptr, file.path + " is in no room");
    for (const std::string_view line : lines_of(file.text)) {
      const std::string_view header = included(line);
      if (header.empty()) continue;
      const std::string wrong = objection(file.path, header);
      BOOST_TEST(wrong.empty(), wrong);
    }
  }
  BOOST_TEST(files > 50U);
}

// A header that includes a library's slows down all who include it, and ties them to the library.
BOOST_AUTO_TEST_CASE(no_header_brings_a_library_to_rooms_that_may_not_use_it) {
  Includes includes;
  for (const SourceFile& file : source_tree(TROUPE_SOURCE_DIR)) {
    if (!is_cpp(file.path)) continue;
    std::vector<std::string>& of_file = includes[file.path];
    for (const std::string_view line : lines_of(file.text)) {
      if (!included(line).empty()) of_file.emplace_back(included(line));
    }
  }
  for (const auto& file : includes) {
    const std::string wrong = objection_to_headers(file.first, includes);
    BOOST_TEST(wrong.empty(), wrong);
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

BOOST_AUTO_TEST_CASE(a_library_that_comes_by_a_header_is_found) {
  const Includes includes{{"apps/a.cpp", {"\"actors/b.hpp\""}},
                          {"actors/b.hpp", {"\"actors/c.hpp\"", "<fmt/format.h>"}},
                          {"actors/c.hpp", {"\"actors/b.hpp\"", "<caf/all.hpp>"}}};
  BOOST_TEST(objection_to_headers("apps/a.cpp", includes) ==
             "apps/a.cpp: apps may not use CAF (<caf/all.hpp>), by actors/c.hpp");
  BOOST_TEST(objection_to_headers("actors/b.hpp", includes) == "");
}

BOOST_AUTO_TEST_CASE(the_tools_install_the_package_of_every_library) {
  std::string packages;  // a line that lists packages may end in a comment
  for (const SourceFile& file : source_tree(TROUPE_SOURCE_DIR)) {
    if (file.path != "tools/prepare.sh") continue;
    for (const std::string_view line : lines_of(file.text)) {
      packages += fmt::format(" {} ", line.substr(0, line.find('#')));
    }
  }
  std::ranges::replace_if(
      packages, [](char c) { return c == '(' || c == ')'; }, ' ');
  const auto installs = [&](std::string_view package) {
    return packages.find(fmt::format(" {} ", package)) != std::string::npos;
  };
  for (const Library& library : libraries) {
    if (library.package.empty()) continue;
    BOOST_TEST(installs(library.package),
               fmt::format("{}: tools/prepare.sh lists no {}", library.name, library.package));
  }
  BOOST_TEST(!installs("libfmt"));
}

BOOST_AUTO_TEST_CASE(what_no_table_knows_is_found) {
  BOOST_TEST(objection("core/attic/old.cpp", "<vector>") == "core/attic/old.cpp is in no room");
  BOOST_TEST(objection("core/baseline.cpp", "<vector>") != "");
  BOOST_TEST(objection("core/graph/graph.cpp", "\"graph.hpp\"") != "");
  BOOST_TEST(objection("core/graph/graph.cpp", "<tbb/tbb.h>") ==
             "core/graph/graph.cpp: <tbb/tbb.h> belongs to no known library");
}

BOOST_AUTO_TEST_SUITE_END()
