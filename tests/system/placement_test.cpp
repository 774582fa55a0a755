// Ops without `on:`, placed by the program.
#include "tests/support/refusal.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(placement)
namespace {

// Four devices with a memory each, which a hub joins.
std::string four_devices() {
  std::string devices, memories, links;
  for (int i = 0; i < 4; ++i) {
    devices += fmt::format("    d{0}: {{kind: cpu, memory: m{0}, flops: 1 GFLOP/s}}\n", i);
    memories += fmt::format("    m{}: {{size: 1 GiB}}\n", i);
    links += fmt::format("    l{0}: {{between: [hub, m{0}], bandwidth: 10 GB/s}}\n", i);
  }
  return fmt::format(
      "machine:\n  devices:\n{}  memories:\n    hub: {{size: 1 GiB}}\n{}  links:\n{}", devices,
      memories, links);
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
