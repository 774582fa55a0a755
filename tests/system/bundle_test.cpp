// The bundle for machines where nothing can be installed: made by `cpack -G TGZ`, and unpacked
// elsewhere.
#include "tests/support/source_tree.hpp"
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(bundle)
namespace {

constexpr std::uintmax_t bundle_bytes_max = 60 << 20;
#ifdef CUDA_STAND_IN_FOLDER
constexpr const char* stand_in = CUDA_STAND_IN_FOLDER;
#else
constexpr const char* stand_in = nullptr;
#endif

// The only entry of a folder.
fs::path only_entry(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "_CPack_Packages") entries.push_back(entry.path());
  }
  BOOST_REQUIRE(entries.size() == 1);
  return entries.front();
}

class Unpacked : public Workspace {
 public:
  Unpacked() {
    const fs::path cpack = fs::path(CMAKE_PROGRAM).parent_path() / "cpack";
    succeed({cpack.string(), "-G", "TGZ", "--config", TROUPE_BUILD_DIR "/CPackConfig.cmake", "-B",
             (path() / "package").string()});
    archive_ = only_entry(path() / "package");
    fs::create_directory(path() / "elsewhere");
    succeed({"tar", "-xf", archive_.string(), "-C", (path() / "elsewhere").string()});
    root_ = only_entry(path() / "elsewhere");
  }
  const fs::path& archive() const { return archive_; }
  const fs::path& root() const { return root_; }

  // Runs a program of the bundle with nothing in its environment but a path, and these variables.
  Finished finish(std::vector<std::string> command, std::vector<std::string> variables = {}) const {
    std::vector<std::string> whole{"/usr/bin/env", "-i", "PATH=/usr/bin:/bin"};
    whole.insert(whole.end(), variables.begin(), variables.end());
    command.front() = (root() / command.front()).string();
    whole.insert(whole.end(), command.begin(), command.end());
    return run(whole);
  }
  std::string succeed(const std::vector<std::string>& command) const {
    const Finished finished = run(command);
    BOOST_REQUIRE_MESSAGE(finished.exit_code == 0, finished.out + finished.err);
    return finished.out;
  }
  // Programs and libraries.
  std::vector<fs::path> objects() const {
    std::vector<fs::path> found;
    for (const char* folder : {"bin", "lib"}) {
      for (const auto& entry : fs::directory_iterator(root() / folder)) {
        const std::string name = entry.path().filename();
        if (name != "gpu_check" && !name.ends_with(".py")) found.push_back(entry.path());
      }
    }
    return found;
  }

 private:
  Finished run(const std::vector<std::string>& command) const {
    ProgramOptions given = options();
    given.limit = std::chrono::seconds(120);
    return Program(command, given).wait();
  }

  fs::path archive_;
  fs::path root_;
};

const Unpacked& unpacked() {
  static const Unpacked once;
  return once;
}

// Whether a library belongs to the machine: glibc's.
bool is_of_glibc(std::string_view name) {
  const std::string_view stem = name.substr(0, name.find(".so"));
  constexpr std::array<std::string_view, 8> glibc{"libc",  "libm",  "libmvec", "libpthread",
                                                  "libdl", "librt", "libutil", "libresolv"};
  return std::ranges::find(glibc, stem) != glibc.end();
}

// Of CUDA's own libraries, which need each other.
bool is_of_cuda(std::string_view name) {
  return name.starts_with("libcu") || name.starts_with("libnvJitLink");
}

// What is wrong with where the loader finds the libraries of a file, a line each. CUDA's are the
// stand-in's, or may be missing.
std::string misplaced_libraries(const fs::path& file) {
  std::vector<std::string> command{"/usr/bin/env", "-i"};
  if (stand_in != nullptr) command.push_back(fmt::format("LD_LIBRARY_PATH={}", stand_in));
  command.insert(command.end(), {"/usr/bin/ldd", file.string()});
  const std::string printed = unpacked().succeed(command);
  std::string wrong;
  for (const std::string_view line : lines_of(printed)) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == line.npos) continue;
    const std::string_view name = line.substr(line.find_first_not_of("\t "));
    const std::string_view path = line.substr(arrow + 4);
    const bool is_ours = path.starts_with(unpacked().root().string());
    const bool is_stand_in = stand_in != nullptr && path.starts_with(stand_in);
    if (!is_ours && !is_stand_in && !is_of_glibc(name) && !is_of_cuda(name)) {
      wrong += fmt::format("{}: {}\n", file.string(), line);
    }
  }
  return wrong;
}

boost::test_tools::assertion_result has_stand_in(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(stand_in != nullptr);
  result.message() << "this build has no stand-in for GPUs";
  return result;
}

constexpr const char* ten_products = R"(
machine: {discover: {}}
tensors:
  x: {op: uniform, shape: [64, 64]}
tasks:
  run: {op: matmul, in: [x, x], repeat: 10}
scenarios:
  all: [run]
)";

constexpr const char* gpu_products = R"(
machine:
  devices:
    cpu: {kind: cpu, memory: host}
    gpu0: {kind: gpu, memory: vram0}
  memories:
    host: {size: 1 GiB}
    vram0: {size: 100 MiB}
  links:
    pcie0: {between: [host, vram0], bandwidth: 10 GB/s, latency: 10 us}
tensors:
  x: {op: uniform, shape: [64, 64], on: gpu0}
tasks:
  run: {op: matmul, in: [x, x], repeat: 10, on: gpu0}
  copy: {op: copy, in: [run], to: host}
scenarios:
  all: [run, copy]
)";

}  // namespace

BOOST_AUTO_TEST_CASE(the_bundle_is_small_enough_to_send) {
  const std::uintmax_t bytes = fs::file_size(unpacked().archive());
  BOOST_TEST(bytes <= bundle_bytes_max);
  BOOST_TEST_MESSAGE(fmt::format("bundle: {:.1f} MiB", static_cast<double>(bytes) / (1 << 20)));
}

BOOST_AUTO_TEST_CASE(every_file_finds_its_libraries_in_the_bundle_but_for_those_of_glibc) {
  const std::vector<fs::path> objects = unpacked().objects();
  BOOST_TEST(objects.size() > 10U);
  for (const fs::path& file : objects) {
    const std::string wrong = misplaced_libraries(file);
    BOOST_TEST(wrong.empty(), wrong);
  }
}

BOOST_AUTO_TEST_CASE(the_program_runs_from_another_folder_without_an_environment) {
  unpacked().write("products.yaml", ten_products);
  const Finished finished =
      unpacked().finish({"bin/troupe", "run", (unpacked().path() / "products.yaml").string()});
  BOOST_TEST(finished.exit_code == 0, finished.out + finished.err);
  BOOST_TEST(finished.out.find("makespan") != std::string::npos, finished.out);
}

BOOST_AUTO_TEST_CASE(the_program_runs_on_the_gpus_of_the_stand_in,
                     *boost::unit_test::precondition(has_stand_in)) {
  unpacked().write("gpu.yaml", gpu_products);
  const Finished finished =
      unpacked().finish({"bin/troupe", "run", (unpacked().path() / "gpu.yaml").string()},
                        {fmt::format("LD_LIBRARY_PATH={}", stand_in)});
  BOOST_TEST(finished.exit_code == 0, finished.out + finished.err);
  BOOST_TEST(finished.out.find("makespan") != std::string::npos, finished.out);
}

// Some of the tests of GPUs: all of them are run elsewhere.
BOOST_AUTO_TEST_CASE(one_command_tests_and_measures_the_gpus_of_a_machine,
                     *boost::unit_test::precondition(has_stand_in)) {
  const fs::path results = unpacked().path() / "results";
  const Finished finished =
      unpacked().finish({"bin/gpu_check", "--quick", "--rounds", "1", results.string()},
                        {fmt::format("LD_LIBRARY_PATH={}", stand_in), "TROUPE_STAND_IN_DEVICES=3",
                         "BOOST_TEST_RUN_FILTERS=issued_ahead"});
  BOOST_TEST(finished.exit_code == 0, finished.out + finished.err);
  for (const char* file :
       {"machine.txt", "runs.txt", "training.txt", "overlap.txt", "overlap.json", "summary.txt"}) {
    BOOST_TEST(fs::exists(results / file), file);
  }
}

BOOST_AUTO_TEST_CASE(without_a_gpu_the_one_command_says_so_and_ends_with_2,
                     *boost::unit_test::precondition(has_stand_in)) {
  const fs::path results = unpacked().path() / "no_results";
  const Finished finished =
      unpacked().finish({"bin/gpu_check", "--quick", results.string()},
                        {fmt::format("LD_LIBRARY_PATH={}", stand_in), "TROUPE_STAND_IN_DEVICES=0"});
  BOOST_TEST(finished.exit_code == 2, finished.out + finished.err);
  BOOST_TEST(finished.err.find("no GPU") != std::string::npos, finished.err);
}

BOOST_AUTO_TEST_SUITE_END()
