#include "core/base/random.hpp"
#include "core/trace/busiest_rows.hpp"
#include "core/trace/gantt.hpp"
#include "core/trace/text_layout.hpp"
#include "core/trace/writers.hpp"
#include "tests/support/contains.hpp"
#include "tests/unit/trace/samples.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;
using troupe::testing::contains;

BOOST_AUTO_TEST_SUITE(report_as_text)
namespace {

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void check_width(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    BOOST_TEST(display_width(line) <= page_width, line);
    BOOST_TEST(!line.ends_with(' '), "blanks at the end of: " + line);
  }
}

// A scenario of `tracks` tracks with one span each, the longest on the last.
ScenarioReport wide(std::size_t tracks) {
  samples::Scenario scenario("wide");
  const std::uint32_t label = scenario.label("op");
  for (std::uint32_t i = 0; i < tracks; ++i) {
    const std::string name = "device" + std::to_string(i);
    scenario.add(scenario.track(name, name), label, i, Duration{1'000 + i});
  }
  return scenario.finish("critical path", 1us);
}

}  // namespace

// run:   R R R R       one after the other on gpu0
//         \ \ \ \      .
// copy:    C C C C     over pcie0
BOOST_AUTO_TEST_CASE(a_pipeline_reads_as_expected) {
  Report report;
  report.machine = "one-gpu";
  report.mode = "simulate";
  report.seed = 7;
  report.scenarios = {samples::run_and_copy("In turn", false, 4, 10ms, 10ms),
                      samples::run_and_copy("At once", true, 4, 10ms, 10ms)};
  report.scenarios[0].lower_bound = 50ms;
  report.scenarios[0].bound_by = "critical path";
  report.scenarios[1].bound_by = "gpu0";
  report.notes = {"Copies use pinned memory."};
  const std::string_view expected = R"(Simulated on one-gpu, seed 7

                  trans-    serial     lower
   scenario  ops    fers      time     bound  bound by       makespan  speedup  overlap  verified
─────────────────────────────────────────────────────────────────────────────────────────────────
1  In turn     4       4  80.00 ms  50.00 ms  critical path  80.00 ms    1.00×   62.5 %       yes
2  At once     4       4  80.00 ms  50.00 ms  gpu0           50.00 ms    1.60×  100.0 %       yes
─────────────────────────────────────────────────────────────────────────────────────────────────
speedup: serial time / makespan · overlap efficiency: lower bound / makespan (100 % is the best)

utilisation       1 In turn                             2 At once
────────────────────────────────────────────────────────────────────────────────────────────
gpu0              ━━━━━━━━━━━━━━━───────────────  50 %  ━━━━━━━━━━━━━━━━━━━━━━━━──────  80 %
pcie0 vram0→host  ━━━━━━━━━━━━━━━───────────────  50 %  ━━━━━━━━━━━━━━━━━━━━━━━━──────  80 %
never busy: cpu, pcie0 host→vram0

Timelines: a letter per group of ops, a capital where an op begins, · where a track was busy
for less than a quarter of the column, ╨ the lower bound. Transfers are drawn, and counted at the
right, with their waits for chunks. All on one time axis.

1  In turn · 80.00 ms
                  0                 20 ms              40 ms              60 ms             80 ms
                 ┌──────────────────┬──────────────────┬──────────────────┬─────────────────┬┐
gpu0             │RrrrrrrrrRrrrrrrrrRrrrrrrrrrRrrrrrrrrr                                     │  50 %
pcie0 vram0→host │                                     CccccccccCcccccccccCccccccccCccccccccc│  50 %
                 └──────────────────────────────────────────────╨────────────────────────────┘
                  r run ×4   c copy → host ×4

2  At once · 50.00 ms
                  0                 20 ms              40 ms
                 ┌──────────────────┬──────────────────┬─────────┐
gpu0             │RrrrrrrrrRrrrrrrrrRrrrrrrrrrRrrrrrrrrr         │  80 %
pcie0 vram0→host │         CccccccccCcccccccccCccccccccCccccccccc│  80 %
                 └──────────────────────────────────────────────╨┘
                  r run ×4   c copy → host ×4

Note: Copies use pinned memory.
)";
  BOOST_TEST(report_text(report) == expected);
  check_width(report_text(report));
}

BOOST_AUTO_TEST_CASE(a_report_without_scenarios_says_what_and_where_it_was) {
  Report report;
  report.machine = "m";
  report.mode = "run";
  report.seed = 3;
  BOOST_TEST(report_text(report) == "Run on m, seed 3\n");
  report.title = "Compute and copy";
  BOOST_TEST(report_text(report).starts_with("Compute and copy\n"));
}

BOOST_AUTO_TEST_CASE(a_scenario_in_which_nothing_ran_is_no_special_case) {
  Report report;
  report.scenarios.resize(2);
  report.scenarios[1].timeline.tracks = {{"gpu0", "gpu0"}};
  report.scenarios[1].resources.resize(1);
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "nothing ran"));
}

BOOST_AUTO_TEST_CASE(a_failed_scenario_says_what_failed_and_how_far_it_came) {
  Report report = samples::one_gpu();
  ScenarioReport& s = report.scenarios[2];
  s.outcome = Outcome::failed;
  s.error = "run[3] on gpu0: no space left";
  s.planned = 25;
  report.scenarios[1].outcome = Outcome::interrupted;
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "✗ failed, 20"));
  BOOST_TEST(contains(text, "run[3] on gpu0: no space left"));
  BOOST_TEST(contains(text, "interrupted, 20 of 20 ops and transfers finished"));
}

BOOST_AUTO_TEST_CASE(wrong_values_are_shouted) {
  Report report = samples::one_gpu();
  report.scenarios[2].verified = false;
  report.scenarios[2].mismatch = "run[3], element [0, 1]: 0.5 instead of 0.25";
  const std::string text = report_text(report);
  BOOST_TEST(contains(text, " NO\n"));
  BOOST_TEST(contains(text, report.scenarios[2].mismatch));
}

BOOST_AUTO_TEST_CASE(a_note_without_words_leaves_no_blanks) {
  Report report;
  report.notes = {"", " "};
  check_width(report_text(report));
}

BOOST_AUTO_TEST_CASE(no_line_is_wider_than_the_page_whatever_the_names) {
  constexpr std::uint64_t seed = 2;
  BOOST_TEST_MESSAGE("seed " << seed);
  Random random(seed);
  const std::string pieces[] = {"a", " ",    "→",  "行列",    "e\u0301",
                                "🎭", "\xFF", "\n", "\x1B[2J", "long"};
  const auto name = [&] {
    std::string text;
    for (std::uint64_t n = random.below(80); n > 0; --n) text += pieces[random.below(10)];
    return text;
  };
  for (int round = 0; round < 50; ++round) {
    Report report;
    report.machine = name();
    report.title = name();
    report.mode = random.below(2) == 0 ? "run" : "simulate";
    report.seed = random.next();
    report.notes = {name()};
    for (std::uint64_t n = random.below(13); n > 0; --n) {
      samples::Scenario scenario(name());
      for (std::uint64_t t = 1 + random.below(30); t > 0; --t) {
        const std::string track = name();
        const std::uint32_t on = scenario.track(track, random.below(2) == 0 ? track : name());
        scenario.add(on, scenario.label(name()), Span::no_index,
                     Duration{static_cast<std::int64_t>(random.next() >> (10 + random.below(50)))});
      }
      ScenarioReport s = scenario.finish(name(), Duration{1});
      s.outcome = static_cast<Outcome>(random.below(3));
      s.error = name();
      s.ops = random.next() >> random.below(64);
      s.transfers = random.next() >> (1 + random.below(60));
      s.verified = random.below(2) == 0;
      s.mismatch = name();
      report.scenarios.push_back(s);
    }
    check_width(report_text(report));
  }
}

BOOST_AUTO_TEST_CASE(of_a_thousand_resources_the_busiest_are_shown) {
  Report report;
  report.scenarios = {wide(1'000)};
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "device999"));
  BOOST_TEST(contains(text, "… and 980 more, no busier"));
  BOOST_TEST(contains(text, "… and 976 more tracks, no busier"));
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') < 70);
}

// All of the 50 links are busier than the 50 devices.
BOOST_AUTO_TEST_CASE(devices_are_shown_beside_links_that_are_busier) {
  samples::Scenario scenario("crowded");
  const std::uint32_t copy = scenario.label("copied");
  const std::uint32_t work = scenario.label("worked");
  const std::uint32_t rest = scenario.label("rested");
  for (std::uint32_t i = 0; i < 50; ++i) {
    const std::string number = std::to_string(100 + i);
    const std::string link = "link" + number;
    const std::string device = "device" + number;
    scenario.add(scenario.track(link, link + " a→b"), copy, i, Duration{100'000 + i});
    scenario.add(scenario.track(device, device), i < 10 ? rest : work, i, Duration{1'000 + i});
  }
  Report report;
  report.scenarios = {scenario.finish("link149 a→b", 1us)};
  const std::string text = report_text(report);
  BOOST_TEST(contains(text, "link149 a→b"));
  BOOST_TEST(contains(text, "device149"));
  BOOST_TEST(contains(text, "… and 80 more, no busier than others of their kind"));
  BOOST_TEST(contains(text, "c copied ×50   w worked ×40"));
  BOOST_TEST(!contains(text, "rested"));  // on no track that is shown
}

BOOST_AUTO_TEST_CASE(of_the_room_for_rows_devices_and_links_have_half_each_if_they_need_it) {
  const RowLoad device{.busy = 1, .is_device = true};
  const RowLoad idle{.busy = 0, .is_device = true};
  const RowLoad link{.busy = 9};
  const RowLoad busy_link{.busy = 10};
  using Rows = std::vector<std::uint32_t>;
  BOOST_TEST(busiest_rows({device, idle, link}, 2) == (Rows{0, 2}));
  BOOST_TEST(busiest_rows({link, link, busy_link, link, device, device, device}, 4) ==
             (Rows{0, 2, 4, 5}));
  BOOST_TEST(busiest_rows({link, link, busy_link, link, device}, 4) == (Rows{0, 1, 2, 4}));
  BOOST_TEST(busiest_rows({link, device, busy_link}, 1) == (Rows{2}));
}

BOOST_AUTO_TEST_CASE(long_names_that_differ_are_shown_as_different) {
  samples::Scenario scenario("two links");
  const std::string node = "node-of-rack-17.";
  for (const char* const link : {"pcie0", "pcie1"}) {
    const std::string name = node + link + " " + node + "vram→" + node + "host";
    scenario.add(scenario.track(name, name), scenario.label("copy"), 0, 1ms);
  }
  Report report;
  report.scenarios = {scenario.finish("critical path", 1ms)};
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(count_of(text, "pcie0") >= 2U, text);
  BOOST_TEST(count_of(text, "pcie1") >= 2U, text);
}

BOOST_AUTO_TEST_CASE(of_many_that_were_never_busy_whole_names_are_shown_and_the_others_counted) {
  Report report;
  report.scenarios = {wide(1)};
  for (int i = 0; i < 100; ++i) {
    report.scenarios[0].resources.push_back({.name = "idle" + std::to_string(i)});
  }
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "never busy: idle0, idle1, "));
  BOOST_TEST(contains(text, "idle38 and 61 more\n"), text);
}

BOOST_AUTO_TEST_CASE(groups_have_the_letter_that_they_begin_with_and_keep_it) {
  const auto scenario_of = [](const std::vector<std::string>& labels) {
    samples::Scenario scenario("groups");
    const std::uint32_t track = scenario.track("cpu", "cpu");
    for (const std::string& label : labels) scenario.add(track, scenario.label(label), 0, 1ms);
    return scenario.finish("cpu", 1ms);
  };
  Report report;
  report.scenarios = {scenario_of({"s", "scan", "c"}), scenario_of({"scan", "s"})};
  const std::string text = report_text(report);
  BOOST_TEST(contains(text, "s s ×1   a scan ×1   c c ×1"), text);
  BOOST_TEST(contains(text, "a scan ×1   s s ×1"), text);
}

BOOST_AUTO_TEST_CASE(groups_have_letters_of_their_own_and_the_smallest_share_one) {
  samples::Scenario scenario("many groups");
  const std::uint32_t track = scenario.track("cpu", "cpu");
  for (std::uint32_t i = 0; i < 40; ++i) {
    scenario.add(track, scenario.label("copy → " + std::to_string(i)), 0, Duration{1'000'000 - i});
  }
  Report report;
  report.scenarios = {scenario.finish("cpu", 40ms)};
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "c copy → 0 ×1"));
  BOOST_TEST(contains(text, "o copy → 1 ×1"));
  BOOST_TEST(contains(text, "# 14 more groups ×14"));
}

BOOST_AUTO_TEST_CASE(spans_of_no_length_are_drawn) {
  samples::Scenario scenario("instant");
  const std::uint32_t track = scenario.track("cpu", "cpu");
  scenario.add(track, scenario.label("zero"), 0, Duration{0});
  Report report;
  report.scenarios = {scenario.finish("cpu", Duration{0})};
  const std::string text = report_text(report);
  check_width(text);
  BOOST_TEST(contains(text, "z zero ×1"));
}

BOOST_AUTO_TEST_CASE(a_chart_that_is_drawn_alone_has_no_common_axis) {
  Report report;
  report.scenarios = {samples::run_and_copy("one", true, 4, 10us, 10us)};
  report.scenarios.emplace_back().outcome = Outcome::failed;
  const std::string text = gantt_charts(report);
  BOOST_TEST(!contains(text, "All on one time axis"));
  BOOST_TEST(contains(text, "nothing has finished"), text);
}

BOOST_AUTO_TEST_CASE(charts_of_very_different_lengths_have_an_axis_each) {
  Report report;
  report.scenarios = {samples::run_and_copy("short", true, 4, 10us, 10us),
                      samples::run_and_copy("long", true, 4, 10ms, 10ms)};
  BOOST_TEST(!contains(report_text(report), "All on one time axis"));
  report.scenarios[0] = samples::run_and_copy("middling", true, 4, 5ms, 5ms);
  BOOST_TEST(contains(report_text(report), "All on one time axis"));
}

// The last column of a chart stands for less time than the others where they don't share it evenly.
BOOST_AUTO_TEST_CASE(a_track_that_is_always_busy_shows_no_dot_however_long_it_is) {
  for (std::int64_t ns = 1; ns <= 1000; ++ns) {
    samples::Scenario scenario("busy");
    scenario.add(scenario.track("cpu", "cpu"), scenario.label("op"), 0, Duration{ns});
    Report report;
    report.scenarios.push_back(scenario.finish("cpu", Duration{ns}));
    std::istringstream lines(gantt_charts(report));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("cpu")) BOOST_TEST(!contains(line, "·"), ns << " ns: " << line);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
