// Op kinds from shared libraries (--ops), through the program.
#include "tests/support/node_process.hpp"
#include "tests/support/refusal.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

namespace {

// Uses the op kind clamp, of examples/custom_op.
const std::string run_file = with_tasks(
    "  x: {op: uniform, shape: [10], on: cpu0}\n"
    "  y: {op: clamp, in: [x], limit: 0.5, on: cpu0}\n");

class Ready : public Workspace {
 public:
  Ready() { write("run.yaml", run_file); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(op_library, Ready)

BOOST_AUTO_TEST_CASE(a_run_file_may_use_the_ops_of_a_library_that_the_command_line_names) {
  for (const std::string command : {"run", "simulate", "validate"}) {
    const Finished done = run({command, "run.yaml", "--ops", CLAMP_LIBRARY});
    BOOST_TEST(done.exit_code == 0, done.err);
  }
}

// clamp does one operation for each of its ten elements.
BOOST_AUTO_TEST_CASE(a_machine_file_may_give_a_rate_for_an_op_of_a_library) {
  write("slow.yaml",
        "devices: {cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s, clamp: 10 FLOP/s}}\n"
        "memories: {host: {size: 1 GiB}}\n");
  write("slow_run.yaml",
        "machine: slow.yaml\n"
        "tasks:\n"
        "  x: {op: uniform, shape: [10], on: cpu0}\n"
        "  y: {op: clamp, in: [x], limit: 0.5, on: cpu0}\n");
  const Finished simulated = run({"simulate", "slow_run.yaml", "--ops", CLAMP_LIBRARY});
  BOOST_TEST(simulated.exit_code == 0, simulated.err);
  BOOST_TEST(simulated.out.find("1.000 s") != std::string::npos, simulated.out);
  const Finished valid = run({"validate", "slow.yaml", "--ops", CLAMP_LIBRARY});
  BOOST_TEST(valid.exit_code == 0, valid.err);
  for (const std::string file : {"slow.yaml", "slow_run.yaml"}) {
    check_refused(*this, {"validate", file}, "slow.yaml:1:", {"'clamp'", "cpu0"});
  }
}

BOOST_AUTO_TEST_CASE(nodes_and_leader_need_the_same_libraries) {
  const Workspace elsewhere;
  const NodeProcess with(elsewhere, {"--ops", CLAMP_LIBRARY});
  const NodeProcess without(elsewhere);
  const std::string both = with.address() + "," + without.address();
  for (const std::string command : {"run", "validate"}) {
    check_refused(
        *this, {command, "run.yaml", "--nodes", both, "--ops", CLAMP_LIBRARY},
        "node " + without.address() + ": its op kinds are others: 'clamp' it doesn't have",
        {"start the node and the leader with --ops"});
  }
  write("run.yaml", "machine: {discover: {}}\ntasks: {x: {op: uniform, shape: [4]}}\n");
  check_refused(*this, {"run", "run.yaml", "--nodes", both},
                "node " + with.address() + ": its op kinds are others: 'clamp' only it has",
                {"start the node and the leader with --ops"});
  write("run.yaml",
        "machine: {discover: {}}\n"
        "tasks:\n"
        "  x: {op: uniform, shape: [4]}\n"
        "  y: {op: clamp, in: [x], limit: 0.5}\n");
  const Finished done = run({"run", "run.yaml", "--nodes", with.address(), "--ops", CLAMP_LIBRARY});
  BOOST_TEST(done.exit_code == 0, done.err);
}

BOOST_AUTO_TEST_CASE(the_run_file_of_the_example_runs) {
  const std::string file = TROUPE_SOURCE_DIR "/examples/custom_op/clamp.yaml";
  const Finished done = run({"run", file, "--ops", CLAMP_LIBRARY});
  BOOST_TEST(done.exit_code == 0, done.err);
  BOOST_TEST(done.out.find("yes") != std::string::npos, done.out);  // verified
}

BOOST_AUTO_TEST_CASE(an_op_of_a_library_is_unknown_without_it) {
  for (const std::string command : {"run", "simulate", "validate"}) {
    check_refused(*this, {command, "run.yaml"}, "run.yaml:", {"clamp", "unknown"});
  }
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_file_is_refused) {
  for (const std::string command : {"run", "simulate", "validate"}) {
    check_refused(*this, {command, "run.yaml", "--ops", "libmine.so"},
                  "libmine.so: ", {"no such file", "path"});
    check_refused(*this, {command, "run.yaml", "--ops", "tmp"}, "tmp: ", {"no file", "path"});
  }
  check_refused(*this, {"run", "run.yaml", "--ops", ""}, "--ops", {"path is empty"});
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_library_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", "run.yaml"},
                "run.yaml: ", {"could not load", "shared library"});
}

BOOST_AUTO_TEST_CASE(a_library_that_is_cut_short_is_refused) {
  std::ifstream whole(CLAMP_LIBRARY, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  for (const std::size_t count : {4UL, 40UL, 64UL, 100UL, 3000UL}) {
    write("cut.so", bytes.substr(0, count));
    check_refused(*this, {"run", "run.yaml", "--ops", "cut.so"},
                  "cut.so: ", {"not complete", "build or copy it anew"});
  }
}

BOOST_AUTO_TEST_CASE(a_library_without_the_symbol_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", NOT_OPS_LIBRARY}, NOT_OPS_LIBRARY ": ",
                {"troupe_op_library", "TROUPE_OPS"});
}

BOOST_AUTO_TEST_CASE(a_library_whose_symbol_is_a_function_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", FUNCTION_OPS_LIBRARY},
                FUNCTION_OPS_LIBRARY ": ", {"troupe_op_library", "TROUPE_OPS"});
}

BOOST_AUTO_TEST_CASE(a_library_for_another_version_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", OLD_OPS_LIBRARY}, OLD_OPS_LIBRARY ": ",
                {"0.0.9", "build it anew"});
}

BOOST_AUTO_TEST_CASE(a_library_that_lacks_a_function_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", UNLINKED_OPS_LIBRARY},
                UNLINKED_OPS_LIBRARY ": ", {"from_elsewhere", "link it to what it uses"});
}

BOOST_AUTO_TEST_CASE(a_library_that_throws_while_it_adds_its_ops_is_named) {
  check_refused(*this, {"run", "run.yaml", "--ops", THROWING_OPS_LIBRARY},
                THROWING_OPS_LIBRARY ": ", {"could not add its ops: there is no day"});
}

BOOST_AUTO_TEST_CASE(a_library_with_an_op_whose_name_is_taken_is_refused) {
  check_refused(*this, {"run", "run.yaml", "--ops", TAKEN_OPS_LIBRARY}, TAKEN_OPS_LIBRARY ": ",
                {"'relu'", "another name"});
  check_refused(*this, {"run", "run.yaml", "--ops", CLAMP_LIBRARY, "--ops", CLAMP_LIBRARY},
                CLAMP_LIBRARY ": ", {"'clamp'", "another name"});
}

BOOST_AUTO_TEST_SUITE_END()
