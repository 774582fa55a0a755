// Runs that succeed, through the program: results verified, reports complete, terminals tidy.
#include "tests/support/workspace.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace troupe::testing;
using nlohmann::json;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(real_run)
namespace {

std::string data(const std::string& name) {
  return std::string(TROUPE_SOURCE_DIR "/tests/system/data/") + name;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> result;
  for (const auto& [key, value] : object.items()) result.insert(key);
  return result;
}

}  // namespace

//   run (cpu0) → there → other (cpu1) → back (cpu0)
//                                     ↘ write → read
BOOST_AUTO_TEST_CASE(a_small_run_succeeds_and_every_scenario_is_verified) {
  const Workspace workspace;
  const Finished finished = workspace.run({"run", data("small.yaml"), "--json", "r.json"});
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");  // no progress bar in a pipe
  BOOST_TEST(count(finished.out, "one by one") >= 1U);
  BOOST_TEST(count(finished.out, "at once") >= 1U);
  BOOST_TEST(count(finished.out, "\033") == 0U);
  const json report = json::parse(workspace.read("r.json"));
  BOOST_REQUIRE(report["scenarios"].size() == 2U);
  for (const json& scenario : report["scenarios"]) {
    BOOST_TEST(scenario["verified"] == true);
    BOOST_TEST(scenario["outcome"] == "done");
  }
  // Nothing is left of the storage.
  BOOST_TEST(std::filesystem::is_empty(workspace.path() / "tmp"));
}

BOOST_AUTO_TEST_CASE(the_json_report_has_every_key_and_its_numbers_agree_with_each_other) {
  const Workspace workspace;
  workspace.run({"run", data("small.yaml"), "--json", "r.json", "--seed", "3"});
  const json report = json::parse(workspace.read("r.json"));
  BOOST_TEST(report["machine"] == "small");
  BOOST_TEST(report["mode"] == "run");
  BOOST_TEST(report["seed"] == 3);
  for (const json& scenario : report["scenarios"]) {
    const std::set<std::string> have = keys(scenario);
    for (const char* key : {"name", "ops", "transfers", "serial_s", "lower_bound_s", "makespan_s",
                            "speedup", "overlap_efficiency", "verified", "resources"}) {
      BOOST_TEST(have.contains(key), "no " << key);
    }
    BOOST_TEST(scenario["ops"] == scenario["planned"].get<int>() - 6);  // 6 implicit transfers
    BOOST_TEST(scenario["transfers"] == 24);
    const double serial = scenario["serial_s"];
    const double makespan = scenario["makespan_s"];
    const double bound = scenario["lower_bound_s"];
    BOOST_TEST(0 < bound);
    BOOST_TEST(bound <= makespan);
    BOOST_TEST(bound <= serial);
    BOOST_TEST(scenario["speedup"].get<double>() == serial / makespan,
               boost::test_tools::tolerance(1e-4));
    BOOST_TEST(scenario["overlap_efficiency"].get<double>() == bound / makespan,
               boost::test_tools::tolerance(1e-4));
    double busy = 0;
    for (const json& resource : scenario["resources"]) {
      BOOST_TEST(resource["name"].is_string());
      BOOST_TEST(resource["utilisation"].get<double>() >= 0);
      BOOST_TEST(resource["utilisation"].get<double>() <= 1);
      busy += resource["busy_s"].get<double>();
    }
    BOOST_TEST(busy == serial, boost::test_tools::tolerance(1e-6));
  }
}

BOOST_AUTO_TEST_CASE(one_scenario_may_be_chosen_and_verification_left_out) {
  const Workspace workspace;
  const Finished finished = workspace.run(
      {"run", data("small.yaml"), "--scenario", "at once", "--no-verify", "--json", "r.json"});
  BOOST_TEST(finished.exit_code == 0);
  const json report = json::parse(workspace.read("r.json"));
  BOOST_REQUIRE(report["scenarios"].size() == 1U);
  BOOST_TEST(report["scenarios"][0]["name"] == "at once");
  BOOST_TEST(report["scenarios"][0]["verified"].is_null());
}

BOOST_AUTO_TEST_CASE(a_cpu_stands_in_for_a_gpu) {
  const Workspace workspace;
  workspace.write("gpu.yaml",
                  "machine:\n"
                  "  devices:\n"
                  "    cpu0: {kind: cpu, memory: host}\n"
                  "    gpu0: {kind: gpu, memory: vram}\n"
                  "  memories: {host: {size: 64 MiB}, vram: {size: 64 MiB}}\n"
                  "  links: {pcie: {between: [host, vram], bandwidth: 1 GB/s}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [50, 50], on: gpu0}\n"
                  "  y: {op: copy, in: x, to: host}\n");
  const Finished finished =
      workspace.run({"run", "gpu.yaml", "--map", "gpu0=cpu0", "--json", "r.json"});
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(json::parse(workspace.read("r.json"))["scenarios"][0]["verified"] == true);
}

BOOST_AUTO_TEST_CASE(outputs_replace_what_was_there_and_leave_nothing_beside_them) {
  const Workspace workspace;
  workspace.write("r.json", "old");
  const Finished finished =
      workspace.run({"run", data("small.yaml"), "--json", "r.json", "--trace", "t.json"});
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(json::parse(workspace.read("r.json")).contains("scenarios"));
  BOOST_TEST(json::parse(workspace.read("t.json")).contains("traceEvents"));
  BOOST_TEST(workspace.snapshot().size() == 3U);  // these two and the folder tmp
}

BOOST_AUTO_TEST_CASE(an_output_at_a_link_is_written_where_the_link_leads) {
  for (const bool is_there : {true, false}) {
    const Workspace workspace;
    fs::create_directory(workspace.path() / "far");
    if (is_there) workspace.write("far/r.json", "old");
    fs::create_symlink("far/via.json", workspace.path() / "link.json");
    fs::create_symlink(workspace.path() / "far" / "r.json", workspace.path() / "far" / "via.json");
    const Finished finished = workspace.run({"run", data("small.yaml"), "--json", "link.json"});
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(fs::is_symlink(workspace.path() / "link.json"));
    BOOST_TEST(fs::is_symlink(workspace.path() / "far" / "via.json"));
    BOOST_TEST(fs::is_regular_file(fs::symlink_status(workspace.path() / "far" / "r.json")));
    BOOST_TEST(json::parse(workspace.read("far/r.json")).contains("scenarios"));
    BOOST_TEST(workspace.snapshot().size() == 5U);  // these three, and the folders far and tmp
  }
}

BOOST_AUTO_TEST_CASE(an_output_at_a_link_that_leads_nowhere_is_refused_before_anything_runs) {
  const Workspace workspace;
  fs::create_symlink("no/such/folder/r.json", workspace.path() / "dangling.json");
  fs::create_symlink("circle.json", workspace.path() / "circle.json");
  for (const std::string link : {"dangling.json", "circle.json"}) {
    const Finished finished = workspace.run({"run", data("small.yaml"), "--json", link});
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(finished.err.starts_with("troupe: can't write '" + link + "': "), finished.err);
    BOOST_TEST(fs::is_symlink(workspace.path() / link));
  }
}

BOOST_AUTO_TEST_CASE(a_report_on_standard_output_is_alone_there_and_its_text_on_standard_error) {
  for (const bool in_file : {false, true}) {
    const Workspace workspace;
    ProgramOptions options = workspace.options();
    if (in_file) options.out = workspace.path() / "out";
    const Finished finished =
        run_troupe({"run", data("small.yaml"), "--json", "/dev/stdout"}, options);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(count(finished.err, "overlap efficiency") == 1U);
    const std::string out = in_file ? workspace.read("out") : finished.out;
    BOOST_TEST(json::parse(out).contains("scenarios"));
  }
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_is_a_valid_machine_file) {
  const Workspace workspace;
  const Finished machine = workspace.run({"machine"});
  BOOST_TEST(machine.exit_code == 0);
  BOOST_TEST(machine.err == "");
  workspace.write("here.yaml", machine.out);
  const Finished valid = workspace.run({"validate", "here.yaml"});
  BOOST_TEST(valid.exit_code == 0);
  BOOST_TEST(valid.err == "");
  BOOST_TEST(valid.out.starts_with("here.yaml: a valid machine file: "));
  workspace.write("run.yaml", "machine: here.yaml\ntasks: {x: {op: uniform, shape: [100, 100]}}\n");
  BOOST_TEST(workspace.run({"run", "run.yaml"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_is_valid_where_there_is_no_temporary_directory_too) {
  const Workspace workspace;
  ProgramOptions options = workspace.options();
  options.environment["TMPDIR"] = (workspace.path() / "none").string();
  const Finished machine = run_troupe({"machine"}, options);
  BOOST_TEST(machine.exit_code == 0);
  BOOST_TEST(count(machine.out, "disk: {kind: storage}") == 1U, machine.out);
  workspace.write("here.yaml", machine.out);
  BOOST_TEST(workspace.run({"validate", "here.yaml"}).exit_code == 0);
}

// Without a size it would be one that nobody knows.
BOOST_AUTO_TEST_CASE(a_disk_that_is_nearly_full_has_the_size_that_is_left,
                     *boost::unit_test::precondition(can_mount)) {
  const Workspace workspace;
  const fs::path small = workspace.path() / "small";
  fs::create_directory(small);
  ProgramOptions options = workspace.options();
  options.environment["TMPDIR"] = small.string();
  const Finished machine =
      Program(with_tmpfs(small, "size=100k", troupe_command({"machine"})), options).wait();
  BOOST_TEST(machine.exit_code == 0, machine.err);
  BOOST_TEST(count(machine.out, "disk: {kind: storage, size: 102400 B}") == 1U, machine.out);
}

BOOST_AUTO_TEST_CASE(validate_says_what_can_be_done_with_a_file) {
  const Workspace workspace;
  const std::string config = TROUPE_SOURCE_DIR "/config/";
  const Finished quickstart = workspace.run({"validate", config + "runs/quickstart.yaml"});
  BOOST_TEST(quickstart.exit_code == 0);
  BOOST_TEST(quickstart.out.ends_with("\n  can be simulated\n  can run on this machine\n"));
  const Finished chapter = workspace.run({"validate", config + "runs/chapter-1-cpu-gpu.yaml"});
  BOOST_TEST(chapter.exit_code == 0);
  BOOST_TEST(count(chapter.out, "\n  can be simulated\n  can't run on this machine: ") == 1U);
  BOOST_TEST(count(chapter.out, "gpu is a GPU") == 1U);
  workspace.write("no_rate.yaml",
                  "machine:\n"
                  "  devices: {cpu0: {kind: cpu, memory: host}}\n"
                  "  memories: {host: {size: 1 GiB}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [100, 100], on: cpu0}\n"
                  "  y: {op: matmul, in: [x, x], on: cpu0}\n");
  const Finished no_rate = workspace.run({"validate", "no_rate.yaml"});
  BOOST_TEST(no_rate.exit_code == 0);
  BOOST_TEST(count(no_rate.out, "\n  can't be simulated: no_rate.yaml:5:3: ") == 1U, no_rate.out);
  BOOST_TEST(no_rate.out.ends_with("\n  can run on this machine\n"));
}

BOOST_AUTO_TEST_CASE(a_progress_bar_is_drawn_on_a_terminal_and_cleared_at_the_end) {
  const Workspace workspace;
  ProgramOptions options = workspace.options();
  options.terminal = true;
  const Finished finished = run_troupe({"run", data("some_seconds.yaml"), "--no-verify"}, options);
  BOOST_TEST(finished.exit_code == 0);
  const std::string clear = "\r\033[K";
  BOOST_TEST(count(finished.err, clear + "[") >= 2U);
  BOOST_TEST(count(finished.err, " %  all") >= 2U);
  BOOST_TEST(finished.err.ends_with(clear));
  BOOST_TEST(count(finished.err, "\n") == 0U);
}

// The run file comes through a pipe that this test fills when it has seen enough.
BOOST_AUTO_TEST_CASE(loading_that_takes_longer_than_a_second_is_shown_with_its_seconds) {
  const Workspace workspace;
  BOOST_REQUIRE(mkfifo((workspace.path() / "run.yaml").c_str(), 0600) == 0);
  ProgramOptions options = workspace.options();
  options.terminal = true;
  Program program(troupe_command({"simulate", "run.yaml", "--verbose"}), options);
  BOOST_TEST(program.wait_until([&] {
    for (int seconds = 2; seconds < 60; ++seconds) {
      const std::string shown = "\r\033[K[ loading run.yaml… " + std::to_string(seconds) + " s ]";
      if (count(program.err(), shown) > 0U) return true;
    }
    return false;
  }));
  workspace.write("run.yaml",
                  "machine: {devices: {cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s}}, "
                  "memories: {host: {size: 1 GiB}}}\n"
                  "tasks: {nap: {op: sleep, duration: 1 s, on: cpu0}}\n");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 0);
  // Lines of text don't mix with the bar.
  BOOST_TEST(count(finished.err, "\r\033[Kloaded 1 ops") == 1U);
}

BOOST_AUTO_TEST_CASE(no_progress_bar_is_drawn_in_a_pipe) {
  const Workspace workspace;
  const Finished finished = workspace.run({"run", data("some_seconds.yaml"), "--no-verify"});
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");
}

BOOST_AUTO_TEST_CASE(no_progress_bar_is_drawn_for_less_than_a_second) {
  const Workspace workspace;
  ProgramOptions options = workspace.options();
  options.terminal = true;
  const auto begin = std::chrono::steady_clock::now();
  const Finished finished =
      run_troupe({"simulate", TROUPE_SOURCE_DIR "/config/runs/chapter-2-gpu-gpu.yaml"}, options);
  const auto taken = std::chrono::steady_clock::now() - begin;
  BOOST_TEST(finished.exit_code == 0);
  if (taken < std::chrono::seconds(1)) BOOST_TEST(finished.err == "");
}

BOOST_AUTO_TEST_SUITE_END()
