// Run files as a whole; their tasks and scenarios have tests of their own.
#include "core/config/run_file.hpp"

#include "core/config/machine_file.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using boost::test_tools::per_element;

BOOST_AUTO_TEST_SUITE(run_files)
namespace {

constexpr std::string_view machine =
    "devices: {cpu: {kind: cpu, memory: host}}\nmemories: {host: {size: 1 GiB}}\n";
constexpr std::string_view inline_machine =
    "machine: {devices: {cpu: {kind: cpu, memory: host}}, memories: {host: {size: 1 GiB}}}\n";

std::string with_machine(std::string_view rest) {
  return std::string(inline_machine) + std::string(rest);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_machine_file_is_found_relative_to_the_run_file) {
  const TemporaryFiles files;
  files.write("machines/small.yaml", machine);
  const auto path = files.write("runs/one.yaml",
                                "about: a title\nmachine: ../machines/small.yaml\n"
                                "tasks: {x: {op: zeros, shape: [4]}}\n");
  const RunFile run = load_run_file(path);
  BOOST_TEST(run.name == "one");
  BOOST_TEST(run.title == "a title");
  BOOST_TEST(run.machine.name == "small");
  BOOST_TEST(run.graph.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_machine_may_stand_in_the_run_file) {
  const TemporaryFiles files;
  const RunFile run =
      load_run_file(files.write("one.yaml", with_machine("tasks: {x: {op: zeros, shape: [4]}}\n")));
  BOOST_TEST(run.machine.name == "one");
  BOOST_TEST(run.machine.devices.size() == 1U);
  BOOST_TEST(run.title == "");
}

BOOST_AUTO_TEST_CASE(the_machine_may_be_this_host) {
  const TemporaryFiles files;
  const RunFile run = load_run_file(
      files.write("one.yaml", "machine: local\ntasks: {x: {op: zeros, shape: [4], on: cpu0}}\n"));
  BOOST_TEST(run.machine.name == "local");
  BOOST_TEST_REQUIRE(!run.machine.devices.empty());
  BOOST_TEST(run.machine.devices[0].place.line == 1);
  BOOST_TEST(run.machine_file.empty());
}

BOOST_AUTO_TEST_CASE(what_a_file_says_of_one_host_is_noted_where_nodes_are_given) {
  const TemporaryFiles files;
  const Machine nodes = load_machine_file(files.write(
      "nodes.yaml", "nodes: {n: {count: 2, machine: local}}\nnetwork: {bandwidth: 1 GB/s}\n"));
  files.write("small.yaml", machine);
  const auto notes = [&](const std::string& of_file) {
    const RunFile run = load_run_file(
        files.write("one.yaml", "machine: " + of_file + "\ntasks: {x: {op: zeros, shape: [4]}}\n"),
        pattern_ops(), &nodes);
    BOOST_TEST(run.machine.nodes.size() == 2U);
    return run.notes;
  };
  const std::vector<std::string> none;
  BOOST_TEST(notes("local") == none, per_element());
  BOOST_TEST(notes("{discover: true}") == none, per_element());
  BOOST_TEST(notes("{discover: {gpus: true}}") == none, per_element());
  BOOST_TEST(notes("nodes.yaml") == none, per_element());
  const std::vector<std::string> settings = {
      "Not used: cpu_devices, storage of `discover`, as the machine is that of the nodes."};
  BOOST_TEST(notes("{discover: {cpu_devices: 1, gpus: true, storage: true}}") == settings,
             per_element());
  const std::vector<std::string> devices = {
      "Not used: the devices of the file's own machine, as the machine is that of the nodes."};
  BOOST_TEST(notes("small.yaml") == devices, per_element());
}

BOOST_AUTO_TEST_CASE(a_machine_file_that_is_missing_is_refused_where_it_is_named) {
  BOOST_TEST(run_error_of("about: x\nmachine: no.yaml\ntasks: {}\n") ==
             "run.yaml:2:10: 'no.yaml': there is no such file; check the path");
  BOOST_TEST(run_error_of("machine: .\ntasks: {}\n").starts_with("run.yaml:1:10: "));
}

BOOST_AUTO_TEST_CASE(an_error_in_the_machine_file_has_its_place_there) {
  const TemporaryFiles files;
  files.write("m.yaml", "devises: {}\n");
  const auto path = files.write("run.yaml", "machine: m.yaml\ntasks: {}\n");
  BOOST_TEST(files.error_of([&] { load_run_file(path); }) ==
             "m.yaml:1:1: a machine has no key 'devises'; did you mean 'devices'?");
}

BOOST_AUTO_TEST_CASE(an_error_in_a_machine_within_the_run_file_has_its_place) {
  BOOST_TEST(
      run_error_of("machine:\n  devices: {c: {kind: cpu, memory: m}}\n  memories: {m: {size: 0 "
                   "B}}\ntasks: {}\n")
          .starts_with("run.yaml:3:24: the size of memory 'm' is zero; "));
}

BOOST_AUTO_TEST_CASE(keys_at_the_top_are_checked) {
  BOOST_TEST(run_error_of("- a\n") ==
             "run.yaml:1:1: a run file is a list; write a map, {key: value, …}");
  BOOST_TEST(run_error_of("machin: x\n") ==
             "run.yaml:1:1: a run file has no key 'machin'; did you mean 'machine'?");
  BOOST_TEST(run_error_of("tasks: {}\n") ==
             "run.yaml:1:1: the run file has no 'machine'; add `machine: …`");
  BOOST_TEST(run_error_of(inline_machine) ==
             "run.yaml:1:1: the run file has no 'tasks'; add `tasks: …`");
  BOOST_TEST(
      run_error_of(with_machine("tasks: {}\n")).starts_with("run.yaml:2:8: there are no tasks; "));
  BOOST_TEST(
      run_error_of(with_machine("tasks: []\n")).starts_with("run.yaml:2:8: tasks is a list; "));
  BOOST_TEST(run_error_of(with_machine("tasks:\n")).starts_with("run.yaml:2:1: tasks is empty; "));
  BOOST_TEST(run_error_of("machine: [a]\ntasks: {}\n") ==
             "run.yaml:1:10: the machine is a list; write `local`, the path of a machine "
             "file, or a map with devices");
  BOOST_TEST(
      run_error_of(with_machine("about: {}\n")).starts_with("run.yaml:2:8: about is a map; "));
}

BOOST_AUTO_TEST_SUITE_END()
