#include "core/base/random.hpp"
#include "core/trace/writers.hpp"
#include "tests/unit/trace/samples.hpp"

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(chrome_trace)
namespace {

std::string written(const Report& report) {
  std::ostringstream out;
  write_chrome_trace(report, out);
  return out.str();
}

struct Slice {
  std::string name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// A trace as a viewer reads it: arrows bound to the slice that is open at their time.
struct Viewed {
  std::map<int, std::string> processes;
  std::map<int, std::string> threads;
  std::map<int, std::vector<Slice>> slices;  // by thread, in the order of their times
  std::vector<std::pair<std::string, std::string>> arrows;  // names of source and target
};

std::int64_t nanoseconds(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

Viewed view(const std::string& text) {
  auto events = nlohmann::json::parse(text)["traceEvents"].get<std::vector<nlohmann::json>>();
  const auto time = [](const nlohmann::json& e) {
    return e.contains("ts") ? nanoseconds(e["ts"]) : std::int64_t{-1};
  };
  std::stable_sort(events.begin(), events.end(),
                   [&](const auto& a, const auto& b) { return time(a) < time(b); });
  Viewed v;
  std::map<std::uint64_t, Slice> sources;
  for (const nlohmann::json& e : events) {
    const std::string phase = e["ph"];
    if (phase == "M") {
      if (e["name"] == "process_name") v.processes[e["pid"]] = e["args"]["name"];
      if (e["name"] == "thread_name") v.threads[e["tid"]] = e["args"]["name"];
      continue;
    }
    std::vector<Slice>& thread = v.slices[e["tid"]];
    if (phase == "X") {
      const std::int64_t begin = time(e);
      if (!thread.empty()) BOOST_TEST(thread.back().end_ns <= begin);
      thread.push_back({e["name"], begin, begin + nanoseconds(e["dur"])});
      continue;
    }
    BOOST_REQUIRE(!thread.empty());
    const Slice& open = thread.back();
    const bool inside =
        time(e) >= open.begin_ns && (time(e) < open.end_ns || open.begin_ns == open.end_ns);
    BOOST_TEST(inside);
    if (phase == "s") {
      BOOST_TEST(sources.emplace(e["id"], open).second);
    } else {
      BOOST_REQUIRE(phase == "f");
      BOOST_TEST(e["bp"] == "e");
      BOOST_TEST(time(e) == open.begin_ns);
      BOOST_REQUIRE(sources.contains(e["id"]));
      v.arrows.emplace_back(sources[e["id"]].name, open.name);
    }
  }
  BOOST_TEST(sources.size() == v.arrows.size());
  return v;
}

}  // namespace

// gpu0:   run[0]  run[1]
//              \       \      .
// pcie0:        copy[0] copy[1]
BOOST_AUTO_TEST_CASE(a_scenario_is_a_process_and_a_track_is_a_thread) {
  Report report;
  report.scenarios = {samples::run_and_copy("in turn", false, 2, 10ms, 15ms),
                      samples::run_and_copy("at once", true, 2, 10ms, 15ms)};
  const Viewed v = view(written(report));
  BOOST_TEST(v.processes.at(1) == "1 in turn");
  BOOST_TEST(v.processes.at(2) == "2 at once");
  BOOST_TEST(v.threads.size() == 8);
  for (const auto& [tid, name] : v.threads) BOOST_TEST(!v.processes.contains(tid));
  const std::pair<std::string, std::string> first{"run[0]", "copy → host[0]"};
  BOOST_TEST((v.arrows.front() == first));
}

BOOST_AUTO_TEST_CASE(times_are_microseconds_with_three_decimals) {
  samples::Scenario scenario("s");
  const std::uint32_t cpu = scenario.track("cpu", "cpu");
  const std::uint32_t label = scenario.label("a");
  scenario.add(cpu, label, 0, Duration{1'234'567});
  scenario.add(cpu, label, 1, Duration{5});
  Report report;
  report.scenarios = {scenario.finish("cpu", 1ms)};
  const std::string text = written(report);
  BOOST_TEST(text.find("\"ts\":0.000,\"dur\":1234.567,") != std::string::npos);
  BOOST_TEST(text.find("\"ts\":1234.567,\"dur\":0.005,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_same_report_gives_the_same_bytes) {
  BOOST_TEST(written(samples::one_gpu()) == written(samples::one_gpu()));
}

BOOST_AUTO_TEST_CASE(names_are_escaped) {
  samples::Scenario scenario("\"\\\xFF");
  scenario.add(scenario.track("c\n", "c\n"), scenario.label("{\"}"), Span::no_index, 1ms);
  Report report;
  report.scenarios = {scenario.finish("c", 1ms)};
  const Viewed v = view(written(report));
  BOOST_TEST(v.processes.at(1) == "1 \"\\\uFFFD");
  BOOST_TEST(v.slices.begin()->second.front().name == "{\"}");
}

BOOST_AUTO_TEST_CASE(an_empty_report_and_an_empty_scenario_are_traces_too) {
  BOOST_TEST(view(written({})).processes.empty());
  Report report;
  report.scenarios.resize(1);
  BOOST_TEST(view(written(report)).processes.size() == 1);
}

// Three flows share a link:  a: 0..9   b: 1..5   c: 6..8
BOOST_AUTO_TEST_CASE(flows_that_overlap_on_one_track_get_threads_of_their_own) {
  Report report;
  report.scenarios.resize(1);
  Timeline& t = report.scenarios[0].timeline;
  t.tracks = {{"net", "net a→b"}};
  t.labels = {"a", "b", "c"};
  const auto at = [](int us) { return Instant{std::chrono::microseconds{us}}; };
  t.spans = {{0, 0, 0, at(0), at(9)}, {0, 1, 0, at(1), at(5)}, {0, 2, 0, at(6), at(8)}};
  const Viewed v = view(written(report));
  BOOST_TEST(v.threads.at(2) == "net a→b");
  BOOST_TEST(v.threads.at(3) == "net a→b (2)");
  BOOST_TEST(v.threads.size() == 2);
  BOOST_TEST(v.slices.at(3).size() == 2);
}

// A route pipelined by chunks: the second link begins while the first still delivers.
BOOST_AUTO_TEST_CASE(an_arrow_from_a_span_that_still_runs_leaves_before_its_target_begins) {
  Report report;
  report.scenarios.resize(1);
  Timeline& t = report.scenarios[0].timeline;
  t.tracks = {{"a", "a"}, {"b", "b"}};
  t.labels = {"x", "y"};
  t.spans = {{0, 0, Span::no_index, Instant{0us}, Instant{9us}},
             {1, 1, Span::no_index, Instant{2us}, Instant{11us}}};
  t.first_predecessor = {0, 0, 1};
  t.predecessors = {0};
  const std::string text = written(report);
  BOOST_TEST(view(text).arrows.size() == 1);
  BOOST_TEST(text.find("\"ts\":1.999,\"id\":1") != std::string::npos);
}

// Random lengths, some of them 0, on tracks that wait for each other.
BOOST_AUTO_TEST_CASE(every_dependency_between_tracks_is_an_arrow_between_its_ops) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      samples::Scenario scenario("random");
      for (int t = 0; t < 4; ++t) scenario.track("t" + std::to_string(t), "t" + std::to_string(t));
      const std::uint32_t label = scenario.label("op");
      std::multiset<std::pair<std::string, std::string>> expected;
      std::vector<std::uint32_t> track_of;
      for (std::uint32_t i = 0; i < 200; ++i) {
        const auto track = static_cast<std::uint32_t>(random.below(4));
        std::vector<std::uint32_t> after;
        for (std::uint64_t n = random.below(3); i > 0 && n > 0; --n) {
          after.push_back(static_cast<std::uint32_t>(random.below(i)));
        }
        for (const std::uint32_t p : after) {
          if (track_of[p] == track) continue;
          expected.emplace("op[" + std::to_string(p) + "]", "op[" + std::to_string(i) + "]");
        }
        scenario.add(track, label, i, Duration{static_cast<std::int64_t>(random.below(4))}, after);
        track_of.push_back(track);
      }
      Report report;
      report.scenarios = {scenario.finish("t0", Duration{1})};
      const Viewed v = view(written(report));
      const std::multiset<std::pair<std::string, std::string>> drawn(v.arrows.begin(),
                                                                     v.arrows.end());
      BOOST_TEST((drawn == expected));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
