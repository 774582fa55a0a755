// Where --json and --trace write, and what they leave alone.
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "tests/support/refusal.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace troupe::testing;
namespace fs = std::filesystem;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(outputs)
namespace {

class Ready : public Workspace {
 public:
  Ready() {
    write("run.yaml", with_tasks("  x: {op: uniform, shape: [2], on: cpu0}\n"));
    write("old.json", "the report of yesterday\n");
    fs::create_directory(path() / "folder");
    fs::create_directory_symlink("folder", path() / "alias");
  }
};

boost::test_tools::assertion_result has_shared_memory(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(access("/dev/shm", W_OK) == 0);
  result.message() << "there is no /dev/shm";
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_under_dev_is_written_as_any_other_file,
                     *boost::unit_test::precondition(has_shared_memory)) {
  const Ready ready;
  const fs::path output = fmt::format("/dev/shm/troupe-test-{}.json", getpid());
  ready.write(output, "old");
  const auto content = [&] { return ready.read(output); };
  const Finished refused = ready.run(
      {"simulate", "run.yaml", "--json", output.string(), "--trace", "nowhere/trace.json"});
  BOOST_TEST(refused.exit_code == 2);
  BOOST_TEST(content() == "old");
  BOOST_TEST(ready.run({"simulate", "run.yaml", "--json", output.string()}).exit_code == 0);
  BOOST_TEST(json::parse(content())["mode"] == "simulate");
  fs::remove(output);
}

BOOST_AUTO_TEST_CASE(an_output_in_a_folder_that_is_gone_is_refused_with_what_to_do) {
  const Ready ready;
  fs::create_directory(ready.path() / "gone");
  std::vector<std::string> command{"sh", "-c", "cd gone && rmdir ../gone && exec \"$0\" \"$@\""};
  for (const std::string& word : troupe_command(
           {"simulate", (ready.path() / "run.yaml").string(), "--json", "report.json"})) {
    command.push_back(word);
  }
  const Finished finished = Program(command, ready.options()).wait();
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(finished.err.find("the current folder may be gone") != std::string::npos,
             finished.err);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_passes_its_mode_on) {
  const Ready ready;
  const fs::perms mode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_exec;
  fs::permissions(ready.path() / "old.json", mode);
  BOOST_TEST(ready.run({"simulate", "run.yaml", "--json", "old.json"}).exit_code == 0);
  BOOST_TEST(json::parse(ready.read("old.json"))["mode"] == "simulate");
  BOOST_TEST((fs::status(ready.path() / "old.json").permissions() == mode));
}

BOOST_AUTO_TEST_CASE(a_link_stays_a_link_and_what_it_leads_to_is_written) {
  const Ready ready;
  fs::create_symlink("folder/new.json", ready.path() / "link.json");
  BOOST_TEST(ready.run({"simulate", "run.yaml", "--json", "link.json"}).exit_code == 0);
  BOOST_TEST(fs::is_symlink(ready.path() / "link.json"));
  BOOST_TEST(json::parse(ready.read("folder/new.json"))["mode"] == "simulate");
}

BOOST_AUTO_TEST_CASE(outputs_that_are_one_file_by_another_name_are_refused) {
  const Ready ready;
  fs::create_symlink("new.json", ready.path() / "link.json");
  fs::create_hard_link(ready.path() / "old.json", ready.path() / "hard.json");
  const auto refused = [&](const char* a, const char* b) {
    check_refused(ready, {"simulate", "run.yaml", "--json", a, "--trace", b}, "",
                  {"--json and --trace", a, b, "a path of its own"});
  };
  refused("link.json", "new.json");
  refused("folder/new.json", "alias/new.json");
  refused("folder/../new.json", "alias/../link.json");
  refused("old.json", "hard.json");
}

BOOST_AUTO_TEST_CASE(the_input_is_never_overwritten_by_another_name) {
  const Ready ready;
  fs::copy_file(ready.path() / "run.yaml", ready.path() / "folder/run.yaml");
  check_refused(ready, {"simulate", "folder/run.yaml", "--json", "alias/run.yaml"}, "",
                {"is the run file", "another path"});
}

BOOST_AUTO_TEST_CASE(standard_output_may_be_an_output_whatever_it_is) {
  const Ready ready;
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"}) {
    ProgramOptions options = ready.options();
    const Finished piped = run_troupe({"simulate", "run.yaml", "--json", name}, options);
    options.out = ready.path() / "out.txt";
    const Finished redirected = run_troupe({"simulate", "run.yaml", "--json", name}, options);
    BOOST_TEST(piped.exit_code == 0);
    BOOST_TEST(redirected.exit_code == 0);
    BOOST_TEST(json::parse(piped.out)["mode"] == "simulate");  // and nothing else
    BOOST_TEST(piped.err.find("Simulated on") != std::string::npos);
    BOOST_TEST(ready.read("out.txt") == piped.out);
  }
  check_refused(ready, {"simulate", "run.yaml", "--json", "-", "--trace", "/dev/fd/1"}, "",
                {"both go to standard output"});
}

BOOST_AUTO_TEST_CASE(an_output_that_is_also_standard_output_is_refused) {
  const Ready ready;
  ProgramOptions options = ready.options();
  options.out = ready.path() / "out.txt";
  const Finished finished = run_troupe({"simulate", "run.yaml", "--json", "out.txt"}, options);
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(finished.err ==
             "troupe: standard output goes to 'out.txt', too; give each a path of its own\n");
}

BOOST_AUTO_TEST_CASE(both_outputs_may_be_one_device) {
  const Ready ready;
  BOOST_TEST(ready.run({"simulate", "run.yaml", "--json", "/dev/null", "--trace", "/dev/null"})
                 .exit_code == 0);
}

// copies: 3 of 6; transfers: 3, since each crosses one link
BOOST_AUTO_TEST_CASE(ops_and_transfers_without_copies_are_what_was_planned) {
  const Ready ready;
  ready.write("copies.yaml", with_tasks("  x: {op: uniform, shape: [2], repeat: 3, on: cpu0}\n"
                                        "  y: {op: copy, in: x, to: far}\n"));
  BOOST_TEST(ready.run({"simulate", "copies.yaml", "--json", "new.json"}).exit_code == 0);
  const json scenario = json::parse(ready.read("new.json"))["scenarios"][0];
  BOOST_TEST(scenario["ops"] == 6);
  BOOST_TEST(scenario["transfers"] == 3);
  BOOST_TEST(scenario["planned"] == 6);
}

// A copy within one memory is made by its device; the first time, a link has made it.
BOOST_AUTO_TEST_CASE(what_a_loss_has_cost_in_the_report_is_what_the_trace_shows_a_second_time) {
  const Workspace workspace;
  workspace.write("run.yaml",
                  "machine:\n"
                  "  nodes:\n"
                  "    n:\n"
                  "      count: 2\n"
                  "      devices: {cpu0: {kind: cpu, memory: mem0, flops: 100 GFLOP/s,\n"
                  "                       bandwidth: 10 GB/s}}\n"
                  "      memories: {mem0: {size: 8 GiB}}\n"
                  "  network: {bandwidth: 5 GB/s, latency: 20 us}\n"
                  "tensors: {x: {op: uniform, shape: [600, 600], on: n0.cpu0}}\n"
                  "tasks:\n"
                  "  run: {op: matmul, in: [x, x], repeat: 100, on: n0.cpu0}\n"
                  "  copy: {op: copy, in: [run], to: n1.mem0}\n");
  const Finished finished = workspace.run({"simulate", "run.yaml", "--lose", "n1@100ms", "--json",
                                           "report.json", "--trace", "trace.json"});
  BOOST_REQUIRE(finished.exit_code == 0);
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<json> slices;
  const json trace = json::parse(workspace.read("trace.json"));
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name")
      tracks[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["ph"] == "X") slices.push_back(event);
  }
  std::ranges::stable_sort(slices, {}, [](const json& slice) { return slice["ts"].get<double>(); });
  std::set<std::pair<int, std::string>> made;
  double again_us = 0;
  for (const json& slice : slices) {
    const bool is_again = !made.emplace(slice["pid"], slice["args"]["op"]).second;
    const std::string& track = tracks[{slice["pid"], slice["tid"]}];
    if (is_again && track.find("cpu") != std::string::npos) again_us += slice["dur"].get<double>();
  }
  BOOST_TEST(again_us > 0);
  const std::string notes = json::parse(workspace.read("report.json"))["notes"].dump();
  const std::string wanted =
      "busy for " + troupe::format_duration(troupe::from_seconds(again_us * 1e-6));
  BOOST_TEST(notes.find(wanted) != std::string::npos, notes);
}

BOOST_AUTO_TEST_SUITE_END()
