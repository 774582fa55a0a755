// What `troupe simulate` says of files in config/runs, byte for byte as in tests/golden/expected.
//
// Where a change is meant to change it, write the expected files anew, look at the difference in
// git, and commit both together:
//
//   TROUPE_UPDATE_GOLDEN=1 ctest --preset release -R '^golden$'
#include "tests/support/seeds.hpp"
#include "tests/support/workspace.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(golden)
namespace {

const std::vector<std::string> names = {"chapter-1-cpu-gpu",       "chapter-2-gpu-gpu",
                                        "chapter-3a-run-and-copy", "chapter-3b-run-and-copy",
                                        "exercise-3-everything",   "nodes-run-and-copy"};

struct Outputs {
  std::string text;
  std::string json;
  std::string trace;
};

Outputs simulate(const std::string& name, const std::string& seed = "0") {
  const Workspace workspace;
  const Finished finished =
      workspace.run({"simulate", fmt::format(TROUPE_SOURCE_DIR "/config/runs/{}.yaml", name),
                     "--seed", seed, "--json", "report.json", "--trace", "trace.json"});
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");
  return {finished.out, workspace.read("report.json"), workspace.read("trace.json")};
}

// The first line in which two texts differ.
std::string difference(const std::string& got, const std::string& wanted) {
  std::istringstream got_lines(got);
  std::istringstream wanted_lines(wanted);
  for (int line = 1;; ++line) {
    std::string g;
    std::string w;
    const bool got_more = static_cast<bool>(std::getline(got_lines, g));
    const bool wanted_more = static_cast<bool>(std::getline(wanted_lines, w));
    if (!got_more && !wanted_more) return "they differ in their last line's end";
    if (g != w || got_more != wanted_more) {
      return fmt::format("line {} is\n  {}\nand should be\n  {}", line, got_more ? g : "missing",
                         wanted_more ? w : "missing");
    }
  }
}

void check_golden(const std::string& file, const std::string& got) {
  const fs::path path = fs::path(TROUPE_SOURCE_DIR "/tests/golden/expected") / file;
  if (std::getenv("TROUPE_UPDATE_GOLDEN") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << got;
    BOOST_TEST_MESSAGE("wrote " << path);
    return;
  }
  std::ifstream in(path, std::ios::binary);
  BOOST_TEST(in.is_open(), "there is no " << path);
  const std::string wanted{std::istreambuf_iterator<char>(in), {}};
  const bool same = got == wanted;
  BOOST_TEST(same, file << " has changed: " << difference(got, wanted));
}

std::vector<std::string> makespans(const std::string& report) {
  std::vector<std::string> result;
  const auto parsed = nlohmann::json::parse(report);
  for (const auto& scenario : parsed["scenarios"]) {
    result.push_back(scenario["makespan_s"].dump());
  }
  return result;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_simulation_of_a_chapter_file_says_what_it_always_said,
                     boost::unit_test::data::make(names), name) {
  const Outputs outputs = simulate(name);
  check_golden(name + ".txt", outputs.text);
  check_golden(name + ".json", outputs.json);
  check_golden(name + ".trace.json", outputs.trace);
}

// With seed 0, they are those of the test before.
BOOST_DATA_TEST_CASE(two_simulations_with_one_seed_write_the_same_bytes,
                     boost::unit_test::data::make(names), name) {
  const Outputs first = simulate(name, "12345");
  const Outputs second = simulate(name, "12345");
  BOOST_TEST((first.trace == second.trace), difference(first.trace, second.trace));
  BOOST_TEST((first.json == second.json), difference(first.json, second.json));
  BOOST_TEST((first.text == second.text), difference(first.text, second.text));
}

BOOST_DATA_TEST_CASE(ten_seeds_give_one_makespan, boost::unit_test::data::make(names), name) {
  const std::vector<std::string> wanted = makespans(simulate(name).json);
  BOOST_TEST(!wanted.empty());
  for (std::uint64_t seed = 1; seed <= usual_seeds(10); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(makespans(simulate(name, std::to_string(seed)).json) == wanted,
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
