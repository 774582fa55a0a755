// Runs that write checkpoints, are cut, and go on from the last one.
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/run_workspace.hpp"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fs = std::filesystem;
using nlohmann::json;
using namespace troupe::testing;
using Words = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(checkpoints_of_a_run)
namespace {

// The second scenario takes a second or three, and doesn't end before there is a file "open".
const std::string two_scenarios =
    "machine: {discover: {}}\n"
    "tensors: {x: {op: uniform, shape: [300, 300]}}\n"
    "tasks:\n"
    "  a: {op: scale, in: [x], alpha: 2, repeat: 40}\n"
    "  early: {op: add, in: [a, x]}\n"
    "  b: {op: mul, in: [a, x]}\n"
    "  nap: {op: sleep, duration: 60 ms, in: [b]}\n"
    "  door: {op: gate}\n"
    "  late: {op: add, in: [b, x]}\n"
    "save: {early: 'early-{i}.npy', late: 'late-{i}.npy'}\n"
    "scenarios:\n"
    "  first: [a, early]\n"
    "  second: [a, b, nap, wait, door, wait, late]\n";

struct Files : RunWorkspace {
  Files() {
    write("run.yaml", two_scenarios);
    fs::create_directory(kept());
  }
  fs::path kept() const { return path() / "kept"; }
  void open() const { write("open", ""); }
  // The newest checkpoint that is there, or 0.
  int newest() const {
    for (int number = 100; number > 0; --number) {
      if (fs::exists(checkpoint(number))) return number;
    }
    return 0;
  }
  fs::path checkpoint(int number) const {
    return kept() / fmt::format("checkpoint-{}.safetensors", number);
  }
  Words command(const Words& more) const {
    Words words = {"run",    "run.yaml",    "--ops",   GATE_OPS_LIBRARY,
                   "--json", "report.json", "--trace", "trace.json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // On a busy host, the first checkpoints of a scenario have nothing of it.
  bool has_tensors(int number) const {
    constexpr std::uintmax_t some = 8 * 300 * 300 * sizeof(float);
    std::error_code gone;
    const std::uintmax_t bytes = fs::file_size(checkpoint(number), gone);
    return !gone && bytes > some;
  }
  // Sends the signal when the second scenario has written checkpoints.
  void cut(int signal, Words more = {}) const {
    more.insert(more.end(), {"--checkpoint", "0.1", "--checkpoint-dir", "kept"});
    Program run(troupe_command(command(more)), options_in(*this));
    BOOST_REQUIRE(run.wait_until([&] { return fs::exists(path() / "early-39.npy"); }));
    const int before = newest();
    BOOST_REQUIRE(run.wait_until([&] { return newest() > before + 1 && has_tensors(newest()); }));
    run.send(signal);
    run.wait();
    open();
    check_nothing_is_left(*this);
  }
  // By tasks of the trace, in microseconds.
  std::multimap<std::string, double> durations() const {
    std::multimap<std::string, double> durations;
    const json trace = json::parse(read("trace.json"));
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      durations.emplace(event["args"]["task"].get<std::string>(), event["dur"].get<double>());
    }
    return durations;
  }
  void check_done(const Finished& finished) const {
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(report()["scenarios"][1]["outcome"] == "done");
    BOOST_TEST(report()["scenarios"][1]["verified"] == true);
    check_nothing_is_left(*this);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_whose_leader_was_killed_goes_on_from_its_last_checkpoint) {
  const Files whole;
  whole.open();
  whole.check_done(run_troupe(whole.command({}), options_in(whole)));
  for (const Words& nodes : {Words{}, Words{"--local-nodes", "2"}}) {
    BOOST_TEST_CONTEXT(fmt::format("{} words", nodes.size())) {
      const Files files;
      files.cut(SIGKILL, nodes);
      fs::remove(files.path() / "early-0.npy");
      Words again = nodes;
      again.insert(again.end(), {"--resume", "kept", "--checkpoint", "0.1"});
      files.check_done(run_troupe(files.command(again), options_in(files)));
      const json report = files.report();
      BOOST_TEST(report["scenarios"][0]["outcome"] == "done before");
      BOOST_TEST(report["scenarios"][1]["ops"] < 160);  // nobody reads some of a any more
      const std::string notes = report["notes"].dump();
      BOOST_TEST(contains(notes, "Resumed from '" + files.kept().string()), notes);
      const std::string before_number = "Of its ops, ";
      BOOST_REQUIRE(contains(notes, before_number));
      const std::uint64_t left =
          std::stoull(notes.substr(notes.find(before_number) + before_number.size()));
      const auto ops = report["scenarios"][1]["ops"].get<std::uint64_t>();
      // A checkpoint cuts transfers between nodes, and what they move may have to be made again.
      BOOST_TEST(ops >= left, notes);
      if (nodes.empty()) BOOST_TEST(ops == left, notes);
      // What was loaded is no op of the scenario. On a slow host all may have been done.
      const auto durations = files.durations();
      const auto [first, last] = durations.equal_range("nap");
      for (auto nap = first; nap != last; ++nap) BOOST_TEST(nap->second > 59'000);
      for (int i = 0; i < 40; ++i) {
        const std::string late = fmt::format("late-{}.npy", i);
        BOOST_TEST((files.read(late) == whole.read(late)), late);
      }
      BOOST_TEST(!fs::exists(files.path() / "early-0.npy"));  // it had been saved
      BOOST_TEST(files.newest() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_says_how_to_go_on_and_a_damaged_checkpoint_is_not_used) {
  const Files files;
  files.cut(SIGINT);
  BOOST_TEST(contains(files.report()["notes"].dump(), "--resume"));
  const int newest = files.newest();
  const std::string good = files.read(files.checkpoint(newest));
  const auto resume = [&](const std::string& content, const Words& words) {
    files.write(files.checkpoint(newest), content);
    check_refused(files, {"run", "run.yaml", "--ops", GATE_OPS_LIBRARY, "--resume", "kept"}, "",
                  words);
  };
  for (const std::size_t size : {good.size() - 1, std::size_t{100}, std::size_t{4}}) {
    resume(good.substr(0, size), {"damaged: the file ", "remove it"});
  }
  std::string bad = good;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  resume(bad, {"damaged", "have changed", "remove it"});
  resume("no checkpoint", {"damaged", "safetensors"});
  check_refused(
      files,
      {"run", "run.yaml", "--ops", GATE_OPS_LIBRARY, "--resume", "kept", "--scenario", "second"},
      "", {});
  std::string silent = good;
  silent.replace(silent.find("widest_team"), 11, "widest_tear");
  resume(silent, {"damaged", "doesn't say how its tensors were made"});
  for (const std::string number : {"scenario", "saved", "widest_team"}) {
    std::string other = good;
    char& digit = other[other.find("\"" + number + "\":\"") + number.size() + 4];
    digit = digit == '7' ? '5' : '7';
    resume(other, {"damaged", "its numbers have changed"});
  }
  std::string newer = good;
  newer.replace(newer.find("checkpoint 3"), 12, "checkpoint 4");
  resume(newer, {"no checkpoint that this version can read"});
  files.write(files.checkpoint(newest - 1), good);  // the one before
  files.check_done(run_troupe(files.command({"--resume", "kept"}), options_in(files)));
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(
      contains(notes, fmt::format("Resumed from an older checkpoint: {}: this is no checkpoint",
                                  files.checkpoint(newest).string())),
      notes);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_however_its_file_is_named_but_not_for_another_folder) {
  const Files files;
  files.cut(SIGKILL);
  fs::create_directory(files.path() / "other");
  files.write("other/run.yaml", two_scenarios);
  check_refused(files, {"run", "other/run.yaml", "--ops", GATE_OPS_LIBRARY, "--resume", "kept"}, "",
                {"belongs to another run file"});
  const std::string absolute = (files.path() / "run.yaml").string();
  files.check_done(run_troupe(
      {"run", absolute, "--ops", GATE_OPS_LIBRARY, "--json", "report.json", "--resume", "kept"},
      options_in(files)));
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_fit_for_checkpoints_is_refused) {
  const Files files;
  const auto refused = [&](const Words& options, const Words& words) {
    Words arguments = {"run", "run.yaml", "--ops", GATE_OPS_LIBRARY};
    arguments.insert(arguments.end(), options.begin(), options.end());
    check_refused(files, arguments, "", words);
  };
  refused({"--checkpoint", "1"}, {"--checkpoint-dir"});
  refused({"--checkpoint", "1", "--checkpoint-dir", "none"}, {"doesn't exist"});
  refused({"--checkpoint", "1", "--checkpoint-dir", "run.yaml"}, {"is no folder"});
  refused({"--resume", "none"}, {"doesn't exist"});
  refused({"--resume", "kept"}, {"there is no checkpoint"});
  refused({"--checkpoint", "0", "--checkpoint-dir", "kept"}, {"--checkpoint", "0.1"});
  check_refused(files, {"simulate", "run.yaml", "--ops", GATE_OPS_LIBRARY, "--checkpoint", "1"}, "",
                {"--checkpoint"});
  files.cut(SIGKILL);
  refused({"--checkpoint", "1", "--checkpoint-dir", "kept"}, {"has checkpoints", "--resume"});
  files.write("run.yaml", two_scenarios + "  third: [a]\n");
  refused({"--resume", "kept"}, {"belongs to another run file"});
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_where_a_checkpoint_cannot_be_written) {
  const Files files;
  files.open();
  ProgramOptions options = options_in(files);
  options.file_size_max = 512 << 10;
  const Words more = {"--checkpoint", "0.2", "--checkpoint-dir", "kept"};
  const Finished finished = run_troupe(files.command(more), options);
  files.check_done(finished);
  const std::size_t said =
      finished.err.find("troupe: scenario 'second': a checkpoint could not be");
  BOOST_REQUIRE(said != std::string::npos);
  BOOST_TEST(contains(finished.err.substr(said), "File too large"));
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "could not be written"));
  BOOST_TEST(contains(notes, "File too large"));
  BOOST_TEST(files.newest() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
