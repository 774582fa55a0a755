// What the program says, and where it reads from: whatever names hold, whatever a file is.
#include "tests/support/address_space.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/refusal.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

using namespace troupe::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(messages)
namespace {

class Ready : public Workspace {
 public:
  Ready() {
    write("run.yaml", with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"
                                 "scenarios: {first: [x, wait], second: [x, wait]}\n"));
  }
};

// Starts a load that never ends, with what it draws on its terminal.
class Loading {
 public:
  Loading(const std::string& file, unsigned short columns) {
    BOOST_REQUIRE(mkfifo((workspace_.path() / file).c_str(), 0600) == 0);
    ProgramOptions options = workspace_.options();
    options.terminal = true;
    options.terminal_columns = columns;
    Program program(troupe_command({"validate", file}), options);
    BOOST_TEST(program.wait_until([&] { return contains(program.err(), " ]"); }));
    program.send(SIGINT);
    drawn_ = program.wait().err;
  }
  const std::string& drawn() const { return drawn_; }

 private:
  Workspace workspace_;
  std::string drawn_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(control_characters_of_a_file_are_escaped_in_messages) {
  check_file_refused(
      both_modes, with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n") + "^\"\\u009b2J\": 1\n",
      {"no key '\\u009b2J'"});
  check_file_refused(
      both_modes, with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n") + "^\"a\\nb\\tc\": 1\n",
      {"no key 'a\\nb\\tc'"});
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_command_line_are_escaped_in_messages) {
  const Ready ready;
  check_refused(ready, {"simulate", "a\x1b[2J\nb\x7f.yaml"}, "a\\x1b[2J\\nb\\x7f.yaml", {});
  check_refused(ready, {"simulate", "run.yaml", "--scenario", "\xc2\x9b\xff"}, "",
                {"'\\u009b\\xff'"});
  check_refused(ready, {"simulate", "run.yaml", "--\x1b"}, "", {"--\\x1b"});
  ready.write("r\x1bn.yaml", ready.read("run.yaml"));
  const Finished valid = ready.run({"validate", "r\x1bn.yaml"});
  BOOST_TEST(valid.out.starts_with("r\\x1bn.yaml: a valid run file"), valid.out);
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_name_are_escaped_in_the_progress_line) {
  const Loading loading("a\x1b]b", 0);
  BOOST_TEST(contains(loading.drawn(), "[ loading a\\x1b]b… "), loading.drawn());
}

BOOST_AUTO_TEST_CASE(the_progress_line_is_narrower_than_its_terminal) {
  const Loading loading(std::string(60, 'n'), 20);
  const std::string start = "\r\033[K";
  std::string rest = loading.drawn();
  for (std::size_t at; (at = rest.rfind(start)) != rest.npos; rest.resize(at)) {
    const std::string line = rest.substr(at + start.size());
    const auto columns = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // the start of a character
    });
    BOOST_TEST(columns < 20, line);
  }
}

BOOST_AUTO_TEST_CASE(a_dumb_terminal_gets_no_progress_line) {
  const Workspace workspace;
  workspace.write("nap.yaml",
                  "machine:\n"
                  "  devices: {cpu0: {kind: cpu, memory: host}}\n"
                  "  memories: {host: {size: 1 GiB}}\n"
                  "tasks: {x: {op: sleep, duration: 1500 ms, on: cpu0}}\n");
  ProgramOptions options = workspace.options();
  options.terminal = true;
  options.environment["TERM"] = "dumb";
  const Finished finished = run_troupe({"run", "nap.yaml"}, options);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");
}

BOOST_AUTO_TEST_CASE(a_pipe_is_validated_as_a_file_is) {
  const Ready ready;
  BOOST_REQUIRE(mkfifo((ready.path() / "pipe").c_str(), 0600) == 0);
  const std::string troupe = TROUPE_PROGRAM;
  for (const std::string& script : {"cat run.yaml | " + troupe + " validate /dev/stdin",
                                    "cat run.yaml > pipe & " + troupe + " validate pipe"}) {
    const Finished finished = Program({"sh", "-c", script}, ready.options()).wait();
    BOOST_TEST(finished.exit_code == 0, finished.err);
    BOOST_TEST(contains(finished.out, "a valid run file: 1 op, 2 scenarios"), finished.out);
  }
}

BOOST_AUTO_TEST_CASE(a_storage_directory_that_is_missing_is_found_by_validate) {
  const Ready ready;
  ready.write("stored.yaml",
              "machine:\n"
              "  devices: {cpu0: {kind: cpu, memory: host}}\n"
              "  memories:\n"
              "    host: {size: 1 GiB}\n"
              "    disk: {kind: storage, size: 1 GB, directory: nowhere}\n"
              "  links: {ssd: {between: [host, disk], bandwidth: 1 GB/s}}\n"
              "tasks: {x: {op: sleep, duration: 1 ms, on: cpu0}}\n");
  const Finished missing = ready.run({"validate", "stored.yaml"});
  BOOST_TEST(missing.exit_code == 0);
  BOOST_TEST(contains(missing.out, "\n  can be simulated\n"), missing.out);
  BOOST_TEST(contains(missing.out,
                      "can't run on this machine: stored.yaml:5:5: memory 'disk': can't "
                      "make a folder in directory"),
             missing.out);
  fs::create_directory(ready.path() / "nowhere");
  const Finished there = ready.run({"validate", "stored.yaml"});
  BOOST_TEST(contains(there.out, "\n  can run on this machine\n"), there.out);
  BOOST_TEST(fs::is_empty(ready.path() / "nowhere"));
}

BOOST_AUTO_TEST_CASE(a_temporary_directory_that_is_missing_is_named) {
  const Ready ready;
  const auto check = [&](const std::string& directory, const std::string& problem) {
    ProgramOptions options = ready.options();
    options.environment["TMPDIR"] = directory;
    const Finished finished = run_troupe({"run", "stored.yaml"}, options);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(finished.err == "troupe: stored.yaml:5:5: memory 'disk': TMPDIR " + problem +
                                   "; set TMPDIR to a directory that exists and that you may "
                                   "write to\n");
  };
  for (const char* size : {"", "size: 1 GB, "}) {
    ready.write("stored.yaml", std::string("machine:\n"
                                           "  devices: {cpu0: {kind: cpu, memory: host}}\n"
                                           "  memories:\n"
                                           "    host: {size: 1 GiB}\n"
                                           "    disk: {") +
                                   size +
                                   "kind: storage}\n"
                                   "  links: {ssd: {between: [host, disk], bandwidth: 1 GB/s}}\n"
                                   "tasks: {x: {op: sleep, duration: 1 ms, on: cpu0}}\n");
    check("/nope", "names no directory: '/nope'");
    check("", "is set, but empty");
  }
}

BOOST_AUTO_TEST_CASE(verbose_names_backends_phases_and_the_cores_of_a_real_run) {
  const Ready ready;
  const std::string real = ready.run({"run", "run.yaml", "--verbose"}).err;
  BOOST_TEST(contains(real, "device cpu0: backend openblas, cores "), real);
  BOOST_TEST(contains(real, "\n'first' is under way\n"), real);
  BOOST_TEST(contains(real, "\nran 2 ops in "), real);
  const std::string simulated = ready.run({"simulate", "run.yaml", "--verbose"}).err;
  BOOST_TEST(contains(simulated, "device cpu0: backend simulated\n"), simulated);
  BOOST_TEST(contains(simulated, "\nsimulated 2 ops in "), simulated);
}

BOOST_AUTO_TEST_CASE(ops_are_listed_with_what_they_take) {
  const Finished finished = run_troupe({"ops"});
  BOOST_TEST(finished.exit_code == 0);
  for (const char* line :
       {"matmul  ", "in: 2    transpose_a: false    transpose_b: false\n",
        "in: 1    begin: a list of whole numbers    end: a list of whole numbers\n",
        "in: 2    side: left or right; left    transpose: false    alpha: 1\n",
        "shape, dtype    seed: 0\n", "in: 0 to 64    duration: a duration\n"}) {
    BOOST_TEST(contains(finished.out, line), line);
  }
  for (const char* no_task : {"\nload ", "\npoint "}) BOOST_TEST(!contains(finished.out, no_task));
  BOOST_TEST(run_troupe({"ops", "--ops", "./nosuch.so"}).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(options_may_stand_before_the_file) {
  const Ready ready;
  const Finished one = ready.run({"simulate", "--scenario", "first", "run.yaml"});
  BOOST_TEST(one.exit_code == 0, one.err);
  BOOST_TEST(!contains(one.out, "second"));
  const Finished two =
      ready.run({"simulate", "--scenario", "first", "--scenario", "second", "run.yaml"});
  BOOST_TEST(two.exit_code == 0, two.err);
  BOOST_TEST(contains(two.out, "second"));
  const Finished mapped = ready.run({"simulate", "--map", "cpu1=cpu0", "run.yaml"});
  BOOST_TEST(mapped.exit_code == 0, mapped.err);
}

BOOST_AUTO_TEST_CASE(a_graph_too_large_for_this_process_is_refused_with_what_was_needed,
                     *boost::unit_test::precondition(can_limit_addresses)) {
  const Ready ready;
  ready.write("grid.yaml", with_tasks("  grid: {pattern: stencil_1d, width: 1000, steps: 1000, "
                                      "kernel: spin, iterations: 1, on: [cpu0]}\n"));
  ProgramOptions options = ready.options();
  options.address_space_max = 150'000'000;
  for (const char* command : {"simulate", "run", "validate"}) {
    const Finished finished = run_troupe({command, "grid.yaml"}, options);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(finished.err ==
               "troupe: planning 1000000 ops of grid.yaml needs more memory than the 150 MB that "
               "this process may have; make the file's graph smaller, or raise the limit (ulimit "
               "-v)\n");
  }
}

BOOST_AUTO_TEST_SUITE_END()
