// Files whose every value is fine and that can't be carried out all the same: cycles, kernels,
// routes, memory, hardware. A ^ marks where the message points.
#include "tests/support/refusal.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(bad_plans)
namespace {

constexpr std::string_view gpu_machine =
    "machine:\n"
    "  devices:\n"
    "    cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 10 GB/s}\n"
    "    ^gpu0: {kind: gpu, memory: vram, matmul: 10 TFLOP/s, launch: 10 us}\n"
    "  memories: {host: {size: 1 GiB}, vram: {size: 1 GiB}}\n"
    "  links:\n"
    "    pcie: {between: [host, vram], bandwidth: 10 GB/s}\n";

// A machine with storage, whose name may carry a mark.
std::string with_storage(std::string_view storage, std::string_view tasks,
                         std::string_view mark = "") {
  return fmt::format(
      "machine:\n"
      "  devices: {{cpu0: {{kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 10 GB/s}}}}\n"
      "  memories:\n"
      "    host: {{size: 1 GiB}}\n"
      "    {}disk: {}\n"
      "  links: {{ssd: {{between: [host, disk], bandwidth: 1 GB/s}}}}\n"
      "tasks:\n{}",
      mark, storage, tasks);
}

std::string unmarked(std::string_view text) {
  std::string result(text);
  std::erase(result, '^');
  return result;
}

}  // namespace

//   a → b → c → a
BOOST_AUTO_TEST_CASE(a_cycle_is_refused_with_the_names_on_it) {
  check_file_refused(both_modes,
                     with_tasks("  a: {op: relu, in: c, on: cpu0}\n"
                                "  b: {op: relu, in: ^a, on: cpu0}\n"
                                "  c: {op: relu, in: b, on: cpu0}\n"),
                     {"need each other", "a → c → b → a", "remove one `in`"});
  check_file_refused(both_modes, with_tasks("  a: {op: add, in: [^a, a], on: cpu0}\n"), {"a → a"});
}

BOOST_AUTO_TEST_CASE(a_simulated_op_on_a_device_without_a_rate_for_it_is_refused) {
  check_file_refused({"simulate"},
                     unmarked(gpu_machine) +
                         "tensors: {x: {op: zeros, shape: [2, 2], on: gpu0}}\n"
                         "tasks:\n  ^y: {op: relu, in: x, on: gpu0}\n",
                     {"'y' is placed on gpu0", "has no rate for 'relu'", "give gpu0 a rate"});
}

BOOST_AUTO_TEST_CASE(a_simulated_op_that_no_device_has_a_rate_for_is_refused) {
  check_file_refused({"simulate"},
                     "machine:\n"
                     "  devices: {cpu0: {kind: cpu, memory: host, matmul: 1 GFLOP/s}}\n"
                     "  memories: {host: {size: 1 GiB}}\n"
                     "tensors: {x: {op: zeros, shape: [2, 2]}}\n"
                     "tasks:\n  ^y: {op: relu, in: x}\n",
                     {"no device has a rate for 'relu'", "'y'", "give one a rate"});
}

//   host ── far      island
BOOST_AUTO_TEST_CASE(a_copy_without_a_route_is_refused) {
  check_file_refused(both_modes,
                     with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                                "  ^y: {op: copy, in: x, to: island}\n"),
                     {"'y' needs 'x' in island", "no route from host", "add a link"});
}

BOOST_AUTO_TEST_CASE(an_input_without_a_route_to_the_op_is_refused) {
  check_file_refused(both_modes,
                     with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                                "  ^y: {op: relu, in: x, on: cpu1}\n",
                                "    cpu1: {kind: cpu, memory: island, flops: 1 GFLOP/s, "
                                "bandwidth: 10 GB/s}"),
                     {"'y' needs 'x' in island", "no route from host"});
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_fit_its_memory_is_refused) {
  check_file_refused(both_modes, with_tasks("  ^x: {op: uniform, shape: [512, 1024], on: cpu1}\n"),
                     {"'x' on cpu1 needs 2 MiB in far", "1 MiB", "available", "smaller"});
  check_file_refused(both_modes,
                     with_tasks("  x: {op: uniform, shape: [512, 1024], on: cpu0}\n"
                                "  ^y: {op: copy, in: x, to: far}\n"),
                     {"'y' on wire needs 2 MiB in far", "available"});
}

// Each of the five tensors fits; four of them at once do, the fifth does not.
BOOST_AUTO_TEST_CASE(a_working_set_that_does_not_fit_its_memory_is_refused) {
  check_file_refused(both_modes,
                     with_tasks("  ^x: {op: uniform, shape: [256, 256], repeat: 5, on: cpu1}\n"),
                     {"'x[4]' on cpu1 needs 256 KiB in far", "0 B of its 1 MiB", "still needed"});
}

// 2,097,152 tensors of 8 TiB are 2^64 bytes, which a 64-bit sum takes for none.
BOOST_AUTO_TEST_CASE(tensors_whose_sum_is_beyond_64_bits_do_not_fit_a_small_memory) {
  constexpr std::string_view of_8_tib = "op: uniform, shape: [1048576, 1048576], dtype: float64";
  check_file_refused(
      {"simulate"},
      fmt::format(
          "machine:\n"
          "  devices: {{cpu0: {{kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 10 GB/s}}}}\n"
          "  memories: {{host: {{size: 1 KiB}}}}\n"
          "tasks:\n"
          "  ^x: {{{0}, repeat: 1000000}}\n"
          "  y: {{{0}, repeat: 1000000}}\n"
          "  z: {{{0}, repeat: 97152}}\n",
          of_8_tib),
      {"'x[0]' on cpu0 needs 8 TiB in host", "1 KiB", "available"});
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_fit_the_storage_is_refused) {
  check_file_refused(both_modes,
                     with_storage("{kind: storage, size: 1 MiB}",
                                  "  x: {op: uniform, shape: [512, 1024], on: cpu0}\n"
                                  "  ^y: {op: copy, in: x, to: disk}\n"),
                     {"'y' on ssd needs 2 MiB in disk", "1 MiB", "available"});
}

// 8 TiB each, of a memory that is said to have 100.
BOOST_AUTO_TEST_CASE(a_host_without_the_memory_for_the_tensors_of_a_later_scenario_is_refused) {
  const std::string text =
      "machine:\n"
      "  devices: {cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 10 GB/s}}\n"
      "  memories: {host: {size: 100 TiB}}\n"
      "tasks:\n"
      "  small: {op: uniform, shape: [2], on: cpu0}\n"
      "  huge: {op: uniform, shape: [1048576, 1048576], dtype: float64, on: cpu0}\n"
      "scenarios:\n"
      "  first: [small]\n"
      "  ^second: [huge]\n";
  check_file_refused({"run"}, text,
                     {"scenario 'second' needs 8 TiB of this host's memory", "are available"});
  const Workspace workspace;
  workspace.write("run.yaml", unmarked(text));
  BOOST_TEST(workspace.run({"simulate", "run.yaml"}).exit_code == 0);
  BOOST_TEST(workspace.run({"run", "run.yaml", "--scenario", "first"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(a_gpu_in_a_real_run_is_refused_with_how_to_simulate_or_map_it) {
  check_file_refused({"run"},
                     std::string(gpu_machine) +
                         "tensors: {x: {op: zeros, shape: [2, 2], on: gpu0}}\n"
                         "tasks: {y: {op: matmul, in: [x, x], on: gpu0}}\n",
                     {"gpu0 is a GPU", "troupe simulate", "--map gpu0=cpu0"});
}

BOOST_AUTO_TEST_CASE(a_core_that_is_not_there_is_refused) {
  check_file_refused({"run"},
                     with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                                "    ^cpu1: {kind: cpu, memory: far, cores: [65535]}"),
                     {"65535"});
}

BOOST_AUTO_TEST_CASE(a_storage_directory_that_is_missing_is_refused_before_anything_runs) {
  const std::string tasks =
      "  x: {op: uniform, shape: [2], on: cpu0}\n"
      "  y: {op: copy, in: x, to: disk}\n";
  check_file_refused({"run"}, with_storage("{kind: storage, directory: nowhere}", tasks, "^"),
                     {"disk", "nowhere", "name a directory"});
  check_file_refused({"run"},
                     with_storage("{kind: storage, size: 1 GB, directory: nowhere}", tasks, "^"),
                     {"disk", "nowhere", "name a directory"});
}

// What can be done in one mode is valid.
BOOST_AUTO_TEST_CASE(validate_refuses_what_can_neither_be_simulated_nor_run) {
  check_file_refused({"simulate", "run", "validate"},
                     with_tasks("  a: {op: zeros, shape: [2, 2], on: cpu0}\n"
                                "  ^b: {op: copy, in: a, to: island}\n"),
                     {"'b' needs 'a' in island", "there is no route"});
}

// What an op that computes nothing lacks is a bandwidth.
BOOST_AUTO_TEST_CASE(an_op_that_only_makes_or_moves_data_needs_a_bandwidth_in_a_simulation) {
  check_file_refused(
      {"simulate"},
      "machine: {devices: {c: {kind: cpu, memory: m}}, memories: {m: {size: 1 GB}}}\n"
      "tasks:\n"
      "  ^a: {op: zeros, shape: [600, 600]}\n",
      {"no device has a bandwidth for 'zeros'", "give one a `bandwidth`"});
  check_file_refused(
      {"simulate"},
      "machine: {devices: {c: {kind: cpu, memory: m}}, memories: {m: {size: 1 GB}}}\n"
      "tasks:\n"
      "  ^a: {op: zeros, shape: [600, 600], on: c}\n",
      {"which has no bandwidth for 'zeros'", "give c a `bandwidth`"});
}

BOOST_AUTO_TEST_CASE(validate_says_both_reasons_if_they_differ) {
  check_file_refused(
      {"validate"},
      "machine: {devices: {g: {kind: gpu, memory: m}}, memories: {m: {size: 1 MB}}}\n"
      "tasks:\n"
      "  ^a: {op: zeros, shape: [600, 600]}\n",
      {"no device has a bandwidth for 'zeros'", "so it can't be simulated",
       "nor can it run here: ", "g is a GPU"});
  const Workspace workspace;
  workspace.write("f.yaml",
                  "machine:\n"
                  "  devices: {g: {kind: gpu, memory: m}, c: {kind: cpu, memory: m}}\n"
                  "  memories: {m: {size: 1 MB}}\n"
                  "tasks: {a: {op: zeros, shape: [600]}}\n");
  const std::string said = workspace.run({"validate", "f.yaml"}).err;
  BOOST_TEST(said.find("let a CPU stand in: 'troupe run --map g=c'") != std::string::npos, said);
  BOOST_TEST(said.find("troupe simulate") == std::string::npos, said);
}

BOOST_AUTO_TEST_SUITE_END()
