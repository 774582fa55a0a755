// Files that are no Troupe files at all, through the program. A ^ marks where the message points.
#include "tests/support/refusal.hpp"

#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(bad_files)
namespace {

const std::vector<std::string> all_commands = {"simulate", "run", "validate"};

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_file_that_is_missing_is_refused) {
  const Workspace workspace;
  for (const std::string& command : all_commands) {
    check_refused(workspace, {command, "nope.yaml"}, "nope.yaml: ", {"no such file", "path"});
  }
}

BOOST_AUTO_TEST_CASE(a_directory_in_place_of_a_run_file_is_refused) {
  const Workspace workspace;
  for (const std::string& command : all_commands) {
    check_refused(workspace, {command, "tmp"}, "tmp: ", {"directory", "name a file"});
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_may_not_be_read_is_refused,
                     *boost::unit_test::precondition(obeys_permissions)) {
  const Workspace workspace;
  workspace.write("run.yaml", with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"));
  std::filesystem::permissions(workspace.path() / "run.yaml", std::filesystem::perms::none);
  check_refused(workspace, {"run", "run.yaml"}, "run.yaml: ", {"can't be read", "permissions"});
}

BOOST_AUTO_TEST_CASE(a_machine_file_that_is_missing_or_a_directory_is_refused_where_it_is_named) {
  check_file_refused(both_modes, "machine: ^nope.yaml\ntasks: {x: {op: sleep, duration: 1 ms}}\n",
                     {"nope.yaml", "no such file", "check the path"});
  check_file_refused(both_modes, "machine: ^tmp\ntasks: {x: {op: sleep, duration: 1 ms}}\n",
                     {"tmp", "directory", "name a file"});
}

BOOST_AUTO_TEST_CASE(an_error_in_a_machine_file_names_that_file) {
  const Workspace workspace;
  workspace.write("run.yaml", "machine: m.yaml\ntasks: {x: {op: sleep, duration: 1 ms}}\n");
  workspace.write("m.yaml", "devices: {}\nmemories: {m: {size: 1 GB}}\n");
  check_refused(workspace, {"simulate", "run.yaml"}, "m.yaml:1:10: ", {"no devices"});
  check_refused(workspace, {"validate", "m.yaml"}, "m.yaml:1:10: ", {"no devices"});
}

BOOST_AUTO_TEST_CASE(an_empty_file_is_refused) {
  const Workspace workspace;
  workspace.write("run.yaml", "# nothing yet\n");
  for (const std::string& command : all_commands) {
    check_refused(workspace, {command, "run.yaml"}, "run.yaml: ", {"empty", "config/"});
  }
}

BOOST_AUTO_TEST_CASE(broken_yaml_is_refused_where_it_breaks) {
  check_file_refused(all_commands, "machine: m.yaml\ntasks: {x: {op: sleep\n^",
                     {"YAML", "brackets"});
  check_file_refused(all_commands, "machine: m.yaml\n  tasks^: {}\n", {"YAML", "indentation"});
  check_file_refused(all_commands, "machine: ^\"m.yaml\ntasks: {}\n", {"quote", "close it"});
}

BOOST_AUTO_TEST_CASE(a_tab_that_indents_a_line_is_refused_where_it_stands) {
  check_file_refused(all_commands, "machine: m.yaml\ntasks:\n^\tx: {op: zeros}\n",
                     {"YAML allows no tabs for indentation", "use spaces"});
}

BOOST_AUTO_TEST_CASE(a_misspelled_key_does_not_turn_a_run_file_into_a_machine_file) {
  check_file_refused(all_commands, "machine: m.yaml\n^task: {x: {op: sleep, duration: 1 ms}}\n",
                     {"a run file has no key 'task'", "did you mean 'tasks'?"});
  check_file_refused(all_commands, "machine: {}\n^work: {x: {op: sleep, duration: 1 ms}}\n",
                     {"a run file has no key 'work'", "one of: about, machine"});
  check_file_refused({"validate"}, "devices: {}\n^memorys: {}\n",
                     {"a machine has no key 'memorys'", "did you mean 'memories'?"});
}

BOOST_AUTO_TEST_CASE(a_machine_file_in_place_of_a_run_file_is_refused_as_such) {
  const Workspace workspace;
  workspace.write("m.yaml", "devices: {d: {kind: cpu, memory: m}}\nmemories: {m: {size: 1 GB}}\n");
  for (const std::string& command : both_modes) {
    check_refused(workspace, {command, "m.yaml"},
                  "m.yaml:1:1: ", {"this is a machine file, not a run file", "machine: m.yaml"});
  }
  workspace.write("run.yaml", "machine: other.yaml\ntasks: {x: {op: sleep, duration: 1 ms}}\n");
  workspace.write("other.yaml", "machine: m.yaml\ntasks: {x: {op: sleep, duration: 1 ms}}\n");
  check_refused(workspace, {"simulate", "run.yaml"},
                "other.yaml:2:1: ", {"'tasks' belongs to a run file", "move it"});
}

BOOST_AUTO_TEST_CASE(parts_of_a_machine_beside_tasks_are_refused) {
  check_file_refused(all_commands,
                     "^devices: {d: {kind: cpu, memory: m}}\nmemories: {m: {size: 1 GB}}\n"
                     "tasks: {x: {op: sleep, duration: 1 ms}}\n",
                     {"'devices' belongs to a machine", "move it under `machine`"});
}

BOOST_AUTO_TEST_CASE(a_file_of_neither_kind_is_refused_with_the_keys_of_both) {
  check_file_refused({"validate"}, "^about: nothing\nfoo: 1\n",
                     {"no key says whether", "`devices` and `memories`", "`machine` and `tasks`"});
}

BOOST_AUTO_TEST_CASE(an_empty_value_is_refused_at_its_key) {
  check_file_refused(both_modes, with_tasks("  x: {op: sleep, ^duration: , on: cpu0}\n"),
                     {"duration of 'x' is empty", "10 us"});
  check_file_refused(both_modes,
                     with_tasks("  x: {op: sleep, duration: 1 ms, on: cpu0}\n"
                                "scenarios:\n  a:\n  - x\n  ^-\n\n"),
                     {"a step of scenario 'a' is empty", "wait"});
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_text_is_refused) {
  check_file_refused(all_commands,
                     "^\x7f"
                     "ELF\x02\x01\x01",
                     {"control characters", "remove"});
  check_file_refused(all_commands, "machine: ^\xff\xfe\n", {"UTF-8"});
}

BOOST_AUTO_TEST_CASE(aliases_merge_keys_and_tags_are_refused) {
  check_file_refused(all_commands, "machine: ^&m m.yaml\ntasks: {}\n",
                     {"anchors and aliases are not supported", "write the value out"});
  check_file_refused(all_commands, "machine: ^*m\ntasks: {}\n",
                     {"aliases are not supported", "write the value out"});
  check_file_refused(all_commands, "^<<: {a: b}\ntasks: {}\n",
                     {"merge keys", "write the keys out"});
  check_file_refused(all_commands, "machine: ^!!str m\ntasks: {}\n", {"tags", "remove it"});
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_refused) {
  check_file_refused(all_commands, "machine: a.yaml\n^machine: b.yaml\ntasks: {}\n",
                     {"'machine' occurs twice", "line 1", "remove or rename"});
}

BOOST_AUTO_TEST_CASE(nesting_deeper_than_64_levels_is_refused) {
  const std::string open(63, '[');
  const std::string close(64, ']');
  check_file_refused(all_commands, fmt::format("about: {}^[{}\n", open, close),
                     {"nested deeper than 64", "check the brackets"});
}

// yaml-cpp takes 1.8 GB for this file.
BOOST_AUTO_TEST_CASE(eight_million_open_brackets_are_refused_without_much_memory) {
  const std::string brackets((std::size_t{8} << 20) - 1024, '[');
  check_file_refused(all_commands, "about: " + std::string(64, '[') + "^" + brackets,
                     {"nested deeper than 64", "check the brackets"});
  constexpr long memory_max_kib = 400 * 1024;
  rusage children{};
  BOOST_REQUIRE(getrusage(RUSAGE_CHILDREN, &children) == 0);
  BOOST_TEST(children.ru_maxrss < memory_max_kib);  // of the largest program that this one started
}

BOOST_AUTO_TEST_CASE(a_file_over_8_mib_is_refused) {
  const Workspace workspace;
  const std::string line = "# " + std::string(1021, '-') + "\n";
  std::string text = "machine: m.yaml\n";
  while (text.size() <= (std::size_t{8} << 20)) text += line;
  workspace.write("run.yaml", text);
  for (const std::string& command : all_commands) {
    check_refused(workspace, {command, "run.yaml"}, "run.yaml: ", {"larger than 8 MiB", "repeat"});
  }
}

BOOST_AUTO_TEST_SUITE_END()
