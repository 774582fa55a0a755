// Command lines and output paths that can't be, through the program.
#include "tests/support/refusal.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(bad_command_line)
namespace {

// A workspace with a good run file.
class Ready : public Workspace {
 public:
  Ready() {
    write("run.yaml", with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                                 "  y: {op: relu, in: x, on: cpu0}\n"
                                 "scenarios: {first: [x, wait], second: [x, y, wait]}\n"));
    write("old.json", "the report of yesterday\n");
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_arguments_are_refused_with_the_commands_there_are) {
  check_refused(Ready(), {}, "", {"command", "run, simulate, validate, machine"});
}

BOOST_AUTO_TEST_CASE(an_unknown_command_is_refused_with_the_nearest_one) {
  check_refused(Ready(), {"simulat", "run.yaml"}, "there is no command 'simulat'",
                {"did you mean 'simulate'?"});
}

BOOST_AUTO_TEST_CASE(a_command_without_its_file_is_refused) {
  for (const char* command : {"run", "simulate", "validate"}) {
    check_refused(Ready(), {command}, "FILE is required", {std::string(command) + " --help"});
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_option_is_refused) {
  const Ready ready;
  check_refused(ready, {"run", "run.yaml", "--jsn", "x"}, "'troupe run' has no option '--jsn'",
                {"did you mean '--json'?"});
  check_refused(ready, {"simulate", "run.yaml", "--no-verify"},
                "'troupe simulate' has no option '--no-verify'", {"'troupe run' has it"});
  check_refused(ready, {"run", "run.yaml", "--lose=n1@1s"}, "'troupe run' has no option '--lose'",
                {"'troupe simulate' has it"});
  check_refused(ready, {"simulate", "run.yaml", "--no-cuda-graphs"}, "", {"--no-cuda-graphs"});
  check_refused(ready, {"--jsn"}, "there is no option '--jsn'", {"--help"});
  check_refused(ready, {"--verbose", "run", "run.yaml"}, "'--verbose' is an option of 'run'", {});
  check_refused(ready, {"run", "run.yaml", "-"}, "'-' is one word too many", {"run --help"});
  check_refused(ready, {"run", "run.yaml", "more.yaml"}, "'more.yaml' is one word too many",
                {"troupe run --help"});
}

BOOST_AUTO_TEST_CASE(an_unknown_policy_for_losses_is_refused_with_those_there_are) {
  for (const std::string& command : both_modes) {
    check_refused(Ready(), {command, "run.yaml", "--on-loss", "wiat"},
                  "--on-loss is replan, fail or wait, and 'wiat' is none of them",
                  {"--on-loss wait:30s"});
    check_refused(Ready(), {command, "run.yaml", "--on-loss", "wait:5"},
                  "--on-loss: '5' is not a duration", {"no unit"});
  }
}

BOOST_AUTO_TEST_CASE(options_of_runs_on_several_nodes_are_refused_without_nodes) {
  const Ready ready;
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{
           {"--transport", "tcp"}, {"--node-timeout", "2"}, {"--connect-timeout", "2"}}) {
    for (const char* command : {"run", "validate"}) {
      check_refused(ready, {command, "run.yaml", option[0], option[1]},
                    option[0] + " is for runs on several nodes", {"--local-nodes"});
    }
  }
  check_refused(ready, {"run", "run.yaml", "--on-loss", "fail"},
                "--on-loss is for runs on several nodes", {"--local-nodes"});
  check_refused(ready, {"simulate", "run.yaml", "--on-loss", "wait"},
                "--on-loss is for nodes that are lost, and none is", {"--lose n1@500ms"});
  check_refused(ready, {"run", "run.yaml", "--interface", "lo"},
                "--interface is for nodes that srun or mpirun has started", {});
}

BOOST_AUTO_TEST_CASE(seconds_and_shares_are_numbers) {
  const Ready ready;
  for (const std::string option : {"--node-timeout", "--connect-timeout", "--checkpoint"}) {
    check_refused(ready, {"run", "run.yaml", "--local-nodes", "2", option, "nan"}, "",
                  {option, "'nan' is not a number"});
  }
  for (const std::string option : {"--node-timeout", "--leader-timeout", "--memory-share"}) {
    check_refused(ready, {"node", "--listen", "127.0.0.1:0", option, "nan"}, "",
                  {option, "'nan' is not a number"});
  }
}

BOOST_AUTO_TEST_CASE(a_machine_file_is_no_run_file_on_nodes_either) {
  const Ready ready;
  ready.write("machine.yaml", "machine: alone\ndiscover: true\n");
  check_refused(ready, {"run", "machine.yaml", "--local-nodes", "2"}, "",
                {"this is a machine file, not a run file"});
}

BOOST_AUTO_TEST_CASE(an_option_with_nothing_after_its_equals_sign_does_not_take_the_next_argument) {
  const Ready ready;
  for (const char* option : {"--scenario=", "--map=", "--seed=", "--json=", "--trace="}) {
    for (const std::string& command : both_modes) {
      check_refused(ready, {command, option, "run.yaml"},
                    "there is nothing after the '=' of '" + std::string(option) + "'; write", {});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_no_natural_number_is_refused) {
  const Ready ready;
  for (const char* seed : {"-1", "x", "1.5", "99999999999999999999999"}) {
    check_refused(ready, {"simulate", "run.yaml", "--seed", seed}, "", {"--seed", seed});
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_scenario_is_refused_with_the_nearest_one) {
  const Ready ready;
  for (const std::string& command : both_modes) {
    check_refused(ready, {command, "run.yaml", "--json", "old.json", "--scenario", "secnd"}, "",
                  {"no scenario 'secnd'", "did you mean 'second'?"});
  }
}

BOOST_AUTO_TEST_CASE(a_bad_map_is_refused) {
  const Ready ready;
  const auto refused = [&](const char* map, const std::vector<std::string>& words) {
    for (const std::string& command : both_modes) {
      check_refused(ready, {command, "run.yaml", "--json", "old.json", "--map", map}, "", words);
    }
  };
  refused("gpu0", {"gpu0", "--map gpu0=cpu0"});
  refused("=cpu0", {"=cpu0", "--map gpu0=cpu0"});
  refused("gpu0=", {"gpu0=", "--map gpu0=cpu0"});
  refused("gpu7=cpu0", {"'gpu7'"});
  refused("cpu0=disk", {"'disk'", "no CPU device"});
}

BOOST_AUTO_TEST_CASE(an_output_path_that_can_not_be_written_is_refused) {
  const Ready ready;
  fs::create_directory(ready.path() / "folder");
  const auto refused = [&](const std::string& path, const char* why) {
    for (const std::string& command : both_modes) {
      for (const char* option : {"--json", "--trace"}) {
        const std::string other = option == std::string("--json") ? "--trace" : "--json";
        check_refused(ready, {command, "run.yaml", option, path, other, "old.json"}, "",
                      {"can't write '" + path + "'", why, "give a path"});
      }
    }
  };
  refused("nowhere/report.json", "No such file or directory");
  refused("folder", "it is a directory");
  refused("/proc/troupe-report.json", "");
  refused("run.yaml/report.json", "Not a directory");
  refused("/", "it is a directory");
}

BOOST_AUTO_TEST_CASE(an_empty_output_path_is_refused) {
  for (const char* option : {"--json", "--trace"}) {
    check_refused(Ready(), {"simulate", "run.yaml", option, ""}, option, {"the path is empty"});
  }
}

BOOST_AUTO_TEST_CASE(messages_that_nobody_can_hear_change_no_exit_code) {
  const std::string program = TROUPE_PROGRAM;
  const auto exit_code_of = [](const std::string& command) {
    return WEXITSTATUS(std::system(command.c_str()));
  };
  BOOST_TEST(exit_code_of(program + " run missing.yaml 2>/dev/full") == 2);
  BOOST_TEST(exit_code_of(program + " run missing.yaml 2>&-") == 2);
  BOOST_TEST(exit_code_of(program + " 2>/dev/full") == 2);
  const Ready ready;
  BOOST_TEST(exit_code_of(program + " simulate " + (ready.path() / "run.yaml").string() +
                          " --verbose >/dev/null 2>/dev/full") == 0);
}

BOOST_AUTO_TEST_CASE(a_report_that_a_closed_standard_output_loses_fails_the_command) {
  const Ready ready;
  const Finished finished =
      Program({"sh", "-c", "exec " TROUPE_PROGRAM " simulate run.yaml >&-"}, ready.options())
          .wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err ==
             "troupe: could not write to standard output: it is closed; send it to a file\n");
}

BOOST_AUTO_TEST_CASE(an_output_path_that_is_read_only_is_refused,
                     *boost::unit_test::precondition(obeys_permissions)) {
  const Ready ready;
  fs::permissions(ready.path() / "old.json", fs::perms::owner_read);
  fs::create_directory(ready.path() / "folder");
  fs::permissions(ready.path() / "folder", fs::perms::owner_read | fs::perms::owner_exec);
  for (const char* path : {"old.json", "folder/new.json"}) {
    check_refused(ready, {"run", "run.yaml", "--json", path}, "",
                  {"Permission denied", "give a path"});
  }
}

BOOST_AUTO_TEST_CASE(an_output_path_on_a_read_only_file_system_is_refused,
                     *boost::unit_test::precondition(can_mount)) {
  const Ready ready;
  fs::create_directory(ready.path() / "mount");
  const auto command = with_tmpfs(ready.path() / "mount", "ro",
                                  troupe_command({"run", "run.yaml", "--json", "mount/new.json"}));
  const Finished finished = Program(command, ready.options()).wait();
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(finished.out == "");
  BOOST_TEST(finished.err ==
             "troupe: can't write 'mount/new.json': Read-only file system; give a path in a "
             "directory that exists and that you may write to\n");
}

BOOST_AUTO_TEST_CASE(outputs_that_would_overwrite_each_other_or_the_input_are_refused) {
  const Ready ready;
  fs::create_symlink("run.yaml", ready.path() / "link.yaml");
  check_refused(ready, {"simulate", "run.yaml", "--json", "a", "--trace", "./a"}, "",
                {"--json and --trace", "a path of its own"});
  check_refused(ready, {"simulate", "run.yaml", "--json", "./run.yaml"}, "",
                {"is the run file", "another path"});
  check_refused(ready, {"simulate", "run.yaml", "--trace", "link.yaml"}, "", {"is the run file"});
  fs::copy_file(CLAMP_LIBRARY, ready.path() / "ops.so");
  check_refused(ready, {"simulate", "run.yaml", "--ops", "./ops.so", "--json", "ops.so"}, "",
                {"is an op library", "another path"});
  ready.write("m.yaml",
              "devices: {cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s}}\n"
              "memories: {host: {size: 1 GiB}}\n");
  ready.write("r.yaml",
              "machine: m.yaml\n"
              "tasks: {x: {op: sleep, duration: 1 ms, on: cpu0}}\n");
  check_refused(ready, {"simulate", "r.yaml", "--json", "m.yaml"}, "",
                {"is the machine file", "another path"});
}

BOOST_AUTO_TEST_CASE(help_and_version_are_no_errors) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"--version"}}) {
    const Finished finished = run_troupe(arguments);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(finished.err == "");
    BOOST_TEST(!finished.out.empty());
  }
}

BOOST_AUTO_TEST_CASE(help_says_where_nodes_listen_and_how_long_they_are_waited_for_by_default) {
  const std::string run = run_troupe({"run", "--help"}).out;
  BOOST_TEST(run.find("can't be reached; default 10\n") != std::string::npos, run);
  BOOST_TEST(run.find("a node is gone; default 10\n") != std::string::npos, run);
  const std::string node = run_troupe({"node", "--help"}).out;
  BOOST_TEST(node.find("default 127.0.0.1:7420\n") != std::string::npos, node);
  BOOST_TEST(node.find("a leader is gone; default 10\n") != std::string::npos, node);
}

BOOST_AUTO_TEST_CASE(help_names_the_one_value_that_an_option_takes) {
  for (const std::string& command : both_modes) {
    const std::string help = run_troupe({command, "--help"}).out;
    for (const char* option :
         {"--json PATH", "--trace PATH", "--scenario NAME", "--map DEVICE=CPU", "--seed N"}) {
      BOOST_TEST(help.find(option) != std::string::npos, help);
    }
    BOOST_TEST(help.find("...") == std::string::npos, help);
  }
}

BOOST_AUTO_TEST_SUITE_END()
