// What a run saves, and when.
#include "actors/runner.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"
#include "tests/support/temporary_directory.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(saves)
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::TemporaryDirectory;
using testing::to;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

// x ── y ── z: of 1, 2 and 3 times the ones that `work` with one input makes
struct Chain : SmallGraph {
  TemporaryDirectory directory;
  OpId start = work("start", 1, {}, on(dev0), 64);
  OpId x = work("x", 1, {start}, on(dev0), 64);
  OpId y = op("y", "add", {x, x}, on(dev1));
  OpId z = op("z", "add", {y, x}, on(dev1));

  SavedFile to_file(const std::string& name, std::vector<OpId> ops) const {
    return {.path = directory.path() / name, .ops = std::move(ops), .place = {"run.yaml", 7, 3}};
  }
  Report perform(const std::vector<Scenario>& scenarios, const std::vector<SavedFile>& saves,
                 Mode mode = Mode::run, bool verify = true,
                 const Machine& machine = testing::two_devices({})) const {
    return Run(machine, graph, scenarios, {.mode = mode, .verify = verify, .saves = saves})
        .perform();
  }
  // The first of the values, which are all equal.
  double value_in(const std::string& name, const std::string& tensor = {}) const {
    const FileTensor saved = open_tensor(directory.path() / name, tensor);
    BOOST_TEST(to_string(saved.type) == "float64 [8]");
    double value = 0;
    std::memcpy(&value, testing::values_of(saved).data(), sizeof value);
    return value;
  }
};

BOOST_AUTO_TEST_CASE(results_are_saved_with_and_without_verification) {
  for (const bool verify : {true, false}) {
    const Chain g;
    const Report report = g.perform(
        {g.everything()}, {g.to_file("y.npy", {g.y}), g.to_file("all.safetensors", {g.z, g.x})},
        Mode::run, verify);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST(g.value_in("y.npy") == 2);
    BOOST_TEST(g.value_in("all.safetensors", "z") == 3);
    BOOST_TEST(g.value_in("all.safetensors", "x") == 1);
    BOOST_TEST(g.directory.entries() == 2U);
    BOOST_REQUIRE(report.notes.size() == 1U);
    BOOST_TEST(report.notes[0].find("'everything': saved 2 files") == 0U);
  }
}

BOOST_AUTO_TEST_CASE(the_other_files_are_saved_when_some_can_not_be) {
  const Chain g;
  const Report report =
      g.perform({g.everything()}, {g.to_file("gone/x.npy", {g.x}), g.to_file("y.npy", {g.y}),
                                   g.to_file("lost/y.npy", {g.y}), g.to_file("z.npy", {g.z})});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(report.scenarios[0].error.find("gone/x.npy") != std::string::npos);
  BOOST_TEST(g.value_in("y.npy") == 2);
  BOOST_TEST(g.value_in("z.npy") == 3);
  BOOST_TEST(g.directory.entries() == 2U);
  BOOST_REQUIRE(report.notes.size() == 2U);
  BOOST_TEST(report.notes[0] == "'everything': saved 2 of 4 files.");
  BOOST_TEST(report.notes[1].find("lost/y.npy") != std::string::npos, report.notes[1]);
}

BOOST_AUTO_TEST_CASE(a_few_files_that_can_not_be_saved_are_named_and_the_rest_counted) {
  const Chain g;
  std::vector<SavedFile> saves;
  for (int i = 0; i < 40; ++i) saves.push_back(g.to_file(fmt::format("gone/{}.npy", i), {g.x}));
  const Report report = g.perform({g.everything()}, saves);
  BOOST_TEST(report.scenarios[0].error.find("gone/0.npy") != std::string::npos);
  BOOST_REQUIRE(report.notes.size() == 5U);
  BOOST_TEST(report.notes[0] == "'everything': saved 0 of 40 files.");
  BOOST_TEST(report.notes[4] == "'everything': more errors like these: 36.");
}

// x is another one each time that it is made, so that it differs from that of the serial execution.
BOOST_AUTO_TEST_CASE(a_result_that_is_not_right_is_not_saved) {
  static std::atomic<double> made = 0;
  OpRegistry ops = testing::test_ops();
  ops.add({.name = "other",
           .summary = "how often it was made",
           .type = [](const OpSignature&) { return testing::of_bytes(8); },
           .cpu = [](const CpuCall& call) { *call.output.as<double>() = made += 1; }});
  const TemporaryDirectory directory;
  SmallGraph g;
  g.graph = Graph(ops);
  const OpId x = g.op("x", "other", {}, on(dev0));
  const std::vector<SavedFile> saves = {{.path = directory.path() / "x.npy", .ops = {x}}};
  for (const bool verify : {true, false}) {
    const std::vector<Scenario> scenarios = {g.everything()};
    const Report report = Run(testing::two_devices({}), g.graph, scenarios,
                              {.mode = Mode::run, .verify = verify, .saves = saves})
                              .perform();
    if (verify) BOOST_TEST((report.scenarios[0].verified == false));
    if (verify) BOOST_TEST(report.notes.back() == "'everything': nothing was saved.");
    BOOST_TEST(directory.entries() == (verify ? 0U : 1U));
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_prepared_before_the_clock_starts_is_saved_too) {
  const Chain g;
  g.perform({g.scenario({"z"})}, {g.to_file("x.npy", {g.x}), g.to_file("z.npy", {g.z})});
  BOOST_TEST(g.value_in("x.npy") == 1);
  BOOST_TEST(g.value_in("z.npy") == 3);
}

BOOST_AUTO_TEST_CASE(the_first_scenario_that_makes_all_results_of_a_file_saves_it) {
  const Chain g;
  const Report report =
      g.perform({g.scenario({"x"}), g.scenario({"x", "y"}), g.everything()},
                {g.to_file("x.npy", {g.x}), g.to_file("xy.safetensors", {g.x, g.y})});
  BOOST_REQUIRE(report.notes.size() == 2U);
  BOOST_TEST(report.notes[0].find("x.npy") != std::string::npos);
  BOOST_TEST(report.notes[1].find("xy.safetensors") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_result_that_no_scenario_makes_is_refused_before_the_run) {
  const Chain g;
  expect_error(ErrorKind::usage, "run.yaml:7:3: no scenario that is run makes z, to be saved to",
               [&] { g.perform({g.scenario({"x"})}, {g.to_file("z.npy", {g.z})}); });
  expect_error(ErrorKind::usage, "makes all of the tensors from x, to be saved to", [&] {
    g.perform({g.scenario({"x"})}, {g.to_file("xz.safetensors", {g.x, g.z})}, Mode::simulate);
  });
}

BOOST_AUTO_TEST_CASE(a_simulation_saves_nothing) {
  const Chain g;
  const Report report = g.perform({g.everything()}, {g.to_file("y.npy", {g.y})}, Mode::simulate);
  BOOST_TEST(g.directory.entries() == 0U);
  BOOST_TEST(report.notes.empty());
}

// A saved result is held until the end, so that the memory takes two tensors where one after the
// other would do.
BOOST_AUTO_TEST_CASE(a_saved_result_takes_its_memory_until_the_end) {
  SmallGraph g;
  const OpId a = g.work("a", 1, {}, on(dev0), 64 << 10);
  const OpId b = g.work("b", 1, {a}, on(dev0), 64 << 10);
  g.work("c", 1, {b}, on(dev0), 64 << 10);
  Machine machine = testing::two_devices({});
  machine.memories[0].size_bytes = 128 << 10;
  const std::vector<Scenario> scenarios = {g.everything()};
  Run(machine, g.graph, scenarios, {.mode = Mode::simulate});
  const std::vector<SavedFile> saves = {{.path = "a.npy", .ops = {a}}};
  expect_error(ErrorKind::usage, "needs 64 KiB",
               [&] { Run(machine, g.graph, scenarios, {.mode = Mode::simulate, .saves = saves}); });
}

BOOST_AUTO_TEST_CASE(a_result_in_storage_is_saved) {
  Chain g;
  g.copy("stored", g.y, to(MemoryId{2}));
  Machine machine = testing::two_devices({});
  machine.memories.push_back({.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 20});
  machine.links.push_back(machine.links[0]);
  machine.links.back().name = "ssd";
  machine.links.back().a = MemoryId{1};
  machine.links.back().b = MemoryId{2};
  const OpId stored = OpId::at(g.graph.size() - 1);
  const Report report =
      g.perform({g.everything()}, {g.to_file("stored.npy", {stored})}, Mode::run, true, machine);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done), report.scenarios[0].error);
  BOOST_TEST(g.value_in("stored.npy") == 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_can_not_be_written_fails_its_scenario) {
  const Chain g;
  const Report report = g.perform({g.everything()}, {g.to_file("nowhere/y.npy", {g.y})});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(report.scenarios[0].error.find("can't write") != std::string::npos);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
