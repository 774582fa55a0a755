// Ops without `on:`, placed by the program.
#include "tests/support/refusal.hpp"

#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(placement)
namespace {

// Four devices with a memory each, which a hub joins.
std::string four_devices(std::string_view flops = "1 GFLOP/s", std::string_view link = "10 GB/s") {
  std::string devices, memories, links;
  for (int i = 0; i < 4; ++i) {
    devices += fmt::format("    d{0}: {{kind: cpu, memory: m{0}, flops: {1}}}\n", i, flops);
    memories += fmt::format("    m{}: {{size: 1 GiB}}\n", i);
    links += fmt::format("    l{0}: {{between: [hub, m{0}], bandwidth: {1}}}\n", i, link);
  }
  return fmt::format(
      "machine:\n  devices:\n{}  memories:\n    hub: {{size: 1 GiB}}\n{}  links:\n{}", devices,
      memories, links);
}

double makespan_s(const std::string& text) {
  const Workspace workspace;
  workspace.write("run.yaml", text);
  const Finished finished = workspace.run({"simulate", "run.yaml", "--json", "report.json"});
  BOOST_TEST_REQUIRE(finished.exit_code == 0, finished.err);
  const auto report = nlohmann::json::parse(workspace.read("report.json"));
  return report["scenarios"][0]["makespan_s"];
}

// cpu1 with memory island, which no link reaches: see with_tasks.
constexpr std::string_view cpu1_on_an_island =
    "    cpu1: {kind: cpu, memory: island, flops: 1 GFLOP/s, bandwidth: 10 GB/s}";

}  // namespace

// Placing takes time in proportion to the number of ops: where it is quadratic, the program is
// killed at its limit of two minutes.
BOOST_AUTO_TEST_CASE(a_million_ops_without_a_place_are_shared_by_four_devices) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  four_devices() + "tasks:\n  s: {op: sleep, duration: 1 ms, repeat: 1000000}\n");
  const Finished finished = workspace.run({"simulate", "run.yaml"});
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(finished.out.find("250.0 s") != std::string::npos, finished.out);
}

// Likewise for devices and nodes: where each op is tried on each of 4,096 devices, or where routes
// between all pairs of memories are kept.
BOOST_AUTO_TEST_CASE(the_ops_of_a_run_file_are_placed_on_the_devices_of_a_thousand_nodes) {
  const Workspace workspace;
  const Finished finished = workspace.run(
      {"simulate", TROUPE_SOURCE_DIR "/config/runs/thousand-nodes.yaml", "--json", "report.json"});
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(finished.out.find("81,920") != std::string::npos, finished.out);
  // The last node has work, too.
  BOOST_TEST(workspace.read("report.json").find("n1023.cpu3") != std::string::npos);
}

// Tensors that one device makes and others could read, and patterns whose rows read each other.
BOOST_AUTO_TEST_CASE(where_tensors_crowd_the_links_the_devices_are_no_slower_than_one) {
  constexpr std::string_view pairs =
      "tasks:\n  y: {{op: tanh, in: [x]{0}}}\n  z: {{op: tanh, in: [y]{0}}}\n"
      "tensors:\n  x: {{op: uniform, shape: [250000], repeat: 256, on: d0}}\n";
  constexpr std::string_view stencil =
      "tasks:\n  g: {{pattern: stencil_1d, width: 16, steps: 10, kernel: spin, iterations: 1000,"
      " output_bytes: 1 MiB{0}}}\n";
  constexpr std::string_view all_to_all =
      "tasks:\n  g: {{pattern: all_to_all, width: 16, steps: 10, kernel: spin, iterations: 1000,"
      " output_bytes: 1 MiB{0}}}\n";
  const std::string machine = four_devices("10 GFLOP/s", "1 GB/s");
  for (const std::string_view tasks : {pairs, stencil, all_to_all}) {
    const double one = makespan_s(machine + fmt::format(fmt::runtime(tasks), ", on: d0"));
    BOOST_TEST(makespan_s(machine + fmt::format(fmt::runtime(tasks), "")) <= one);
  }
}

//   x ── y on cpu1      cpu0's memory and cpu1's are not joined
BOOST_AUTO_TEST_CASE(an_op_goes_where_its_reader_is_if_no_link_leads_there) {
  const Workspace workspace;
  for (const std::string_view x : {"  x: {op: uniform, shape: [2]}\n",
                                   "  w: {op: uniform, shape: [2]}\n  x: {op: relu, in: w}\n"}) {
    workspace.write("run.yaml", with_tasks(std::string(x) + "  y: {op: relu, in: x, on: cpu1}\n",
                                           cpu1_on_an_island));
    for (const std::string& command : both_modes) {
      const Finished finished = workspace.run({command, "run.yaml"});
      BOOST_TEST(finished.exit_code == 0, finished.err);
    }
  }
}

//   x on cpu0 ── m ── y on cpu1
BOOST_AUTO_TEST_CASE(an_op_between_memories_that_no_links_join_is_refused) {
  check_file_refused(
      both_modes,
      with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                 "  ^m: {op: relu, in: x}\n"
                 "  y: {op: relu, in: m, on: cpu1}\n",
                 cpu1_on_an_island),
      {"no placement exists for 'm'", "'x' in host", "'y' in island", "no route", "add a link"});
}

BOOST_AUTO_TEST_SUITE_END()
