// A run with little memory, through the program.
#include "tests/support/address_space.hpp"
#include "tests/support/few_cores.hpp"
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(memory_limits)

// Whatever it is that finds no memory, and on whatever thread: the program says so, and no signal
// ends it.
BOOST_AUTO_TEST_CASE(a_host_without_memory_is_told_of_in_a_line,
                     *boost::unit_test::precondition(can_limit_addresses)) {
  const FewCores one_for_each_device(2);
  const Workspace workspace;
  workspace.write("many.yaml",
                  "machine: {discover: {cpu_devices: 2}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [10, 10], repeat: 3000, on: cpu0}\n"
                  "  y: {op: copy, in: x, repeat: 3000, to: mem1}\n"
                  "  z: {op: relu, in: y, repeat: 3000, on: cpu1}\n");
  ProgramOptions options = workspace.options();
  options.environment["OPENBLAS_NUM_THREADS"] = "1";
  int failed_at_work = 0;
  constexpr std::uint64_t step = 1 << 20;
  for (options.address_space_max = 8 * step;; options.address_space_max += step) {
    BOOST_TEST_CONTEXT(options.address_space_max << " bytes of addresses") {
      BOOST_TEST_REQUIRE(options.address_space_max < 2000 * step);
      if (run_troupe({"--version"}, options).exit_code != 0) continue;
      const Finished finished = run_troupe({"run", "many.yaml"}, options);
      BOOST_TEST_INFO(finished.err);
      BOOST_TEST_REQUIRE(finished.signal == 0);
      if (finished.exit_code == 0) break;
      BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
      BOOST_TEST(finished.err.starts_with("troupe: "));
      failed_at_work += finished.exit_code == 1 ? 1 : 0;
    }
  }
  BOOST_TEST(failed_at_work > 0);
}

// Which would ask for its buffers again and again.
BOOST_AUTO_TEST_CASE(a_limit_that_leaves_openblas_no_buffers_ends_the_run_with_what_to_do,
                     *boost::unit_test::precondition(can_limit_addresses)) {
  const Workspace workspace;
  workspace.write("product.yaml",
                  "machine: {discover: {}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [10, 10]}\n"
                  "  y: {op: matmul, in: [x, x]}\n");
  ProgramOptions options = workspace.options();
  options.address_space_max = 300 << 20;
  const Finished finished = run_troupe({"run", "product.yaml"}, options);
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(finished.err.find("OpenBLAS") != std::string::npos);
  BOOST_TEST(finished.err.find("ulimit -v") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
