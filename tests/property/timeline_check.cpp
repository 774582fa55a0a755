#include "tests/property/timeline_check.hpp"

#include <algorithm>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

TimelineCheck::TimelineCheck(const Graph& graph, const Machine& machine, const Scenario& scenario,
                             const ScenarioReport& report)
    : graph_(graph), machine_(machine), report_(report) {
  read_rows();
  read_windows(scenario);
  read_spans();
}

void TimelineCheck::read_rows() {
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    const MemoryId memory = machine_.devices[d].memory;
    for (int s = 0; s < machine_.devices[d].streams; ++s) {
      rows_.push_back({.device = DeviceId::at(d), .source = memory, .target = memory});
    }
  }
  // Chunks of a fair link, and of routes over several links, take turns.
  const bool has_routes = machine_.memories.size() > 2;
  for (const Link& link : machine_.links) {
    for (const Direction d : {Direction::forward, Direction::backward}) {
      rows_.push_back({.device = {},
                       .source = link.source(d),
                       .target = link.target(d),
                       .exclusive = link.sharing == Sharing::fifo && !has_routes});
    }
  }
  BOOST_TEST_REQUIRE(rows_.size() == report_.timeline.tracks.size());
}

void TimelineCheck::read_windows(const Scenario& scenario) {
  std::size_t window = 0;
  for (const Step& step : scenario.steps) {
    if (step.is_wait()) {
      ++window;
      continue;
    }
    const Group& group = graph_.group(step.group);
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const OpId op{group.first.value + i};
      if (graph_.maker(op) == op) window_of_[op] = window;
    }
  }
}

void TimelineCheck::read_spans() {
  const std::string arrow = "→";
  std::map<std::string, GroupId, std::less<>> groups;
  for (std::size_t g = 0; g < graph_.group_count(); ++g) {
    groups.emplace(graph_.group(GroupId::at(g)).name, GroupId::at(g));
  }
  for (const Span& s : report_.timeline.spans) {
    std::string name = report_.timeline.labels[s.label];
    const bool moved = name.starts_with(arrow);
    if (moved) name.erase(0, arrow.size());
    const std::string group = name.substr(0, name.find('.'));
    BOOST_TEST_REQUIRE(groups.contains(group));
    const std::uint32_t index = s.index == Span::no_index ? 0 : s.index;
    OpId op = graph_.op_in_group(groups.at(group), index);
    // What is moved may be a further output of the op.
    if (group != name) op = further_output(op, name.substr(group.size() + 1));
    (moved ? moved_ : made_)[op].push_back(&s);
  }
}

OpId TimelineCheck::further_output(OpId op, const std::string& name) const {
  const auto& outputs = graph_.kind(op).further_outputs;
  const auto named = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const FurtherOutput& o) { return o.name == name; });
  BOOST_TEST_REQUIRE((named != outputs.end()));
  return OpId{op.value + 1 + static_cast<std::uint32_t>(named - outputs.begin())};
}

void TimelineCheck::run() const {
  for (const auto& [op, window] : window_of_) {
    BOOST_TEST_CONTEXT(graph_.name(op) << " (" << graph_.kind(op).name << ")") {
      const auto made = made_.find(op);
      BOOST_TEST_REQUIRE((made != made_.end()));
      BOOST_TEST_REQUIRE(made->second.size() == 1U);
      check_placement(op);
      check_inputs(op);
    }
  }
  BOOST_TEST(made_.size() == window_of_.size());
  for (const auto& [tensor, spans] : moved_) {
    BOOST_TEST_CONTEXT("the transfer of " << graph_.name(tensor)) {
      for (const Span* s : spans) check_source(tensor, *s);
    }
  }
  check_windows();
  check_rows();
  check_figures();
}

void TimelineCheck::check_placement(OpId op) const {
  const Span& span = *made_.at(op)[0];
  const Placement& wanted = graph_.placement(op);
  if (wanted.device) BOOST_TEST((row(span).device == wanted.device));
  if (wanted.memory) BOOST_TEST((row(span).target == wanted.memory));
  if (!graph_.kind(op).moves_data) BOOST_TEST(!is_made_by_link(span));
}

void TimelineCheck::check_inputs(OpId op) const {
  for (const OpId input : graph_.inputs(op)) check_source(input, *made_.at(op)[0]);
}

// `tensor` must be in the memory in which `reader` reads it before `reader` begins. On a route of
// several links a part of it must be there by then, and all of it before `reader` ends.
void TimelineCheck::check_source(OpId tensor, const Span& reader) const {
  bool arrives = false;
  bool in_time = false;
  const auto look = [&](const Span& s) {
    if (&s == &reader || row(s).target != row(reader).source) return;
    arrives = true;
    in_time = in_time || s.end <= reader.start;
    const bool is_route = is_made_by_link(s) && is_made_by_link(reader);
    in_time = in_time || (is_route && s.start <= reader.start && s.end <= reader.end);
  };
  const OpId maker = graph_.maker(tensor);
  if (made_.contains(maker)) look(*made_.at(maker)[0]);
  if (moved_.contains(tensor)) {
    for (const Span* s : moved_.at(tensor)) look(*s);
  }
  const bool is_prepared = !window_of_.contains(maker);
  BOOST_TEST((arrives || is_prepared), graph_.name(tensor) << " was never there");
  BOOST_TEST((in_time || !arrives), graph_.name(tensor) << " came too late");
}

void TimelineCheck::check_windows() const {
  std::map<std::size_t, Instant> first;
  std::map<std::size_t, Instant> last;
  for (const auto& [op, window] : window_of_) {
    const Span& s = *made_.at(op)[0];
    first[window] = std::min(first.try_emplace(window, s.start).first->second, s.start);
    last[window] = std::max(last[window], s.end);
  }
  Instant end_so_far{};
  for (const auto& [window, start] : first) {
    BOOST_TEST((start >= end_so_far), "window " << window << " did not wait");
    end_so_far = std::max(end_so_far, last[window]);
  }
}

void TimelineCheck::check_rows() const {
  std::map<std::uint32_t, std::vector<const Span*>> by_track;
  for (const Span& s : report_.timeline.spans) by_track[s.track].push_back(&s);
  for (auto& [track, spans] : by_track) {
    if (!rows_[track].exclusive) continue;
    std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
      return std::pair(a->start, a->end) < std::pair(b->start, b->end);
    });
    for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
      BOOST_TEST((spans[i]->end <= spans[i + 1]->start),
                 "two spans overlap on " << report_.timeline.tracks[track].name);
    }
  }
}

void TimelineCheck::check_figures() const {
  BOOST_TEST(report_.ops == window_of_.size());
  BOOST_TEST(report_.planned == report_.timeline.spans.size());
  BOOST_TEST((report_.lower_bound <= report_.makespan),
             "the lower bound of " << report_.lower_bound.count() << " exceeds the makespan of "
                                   << report_.makespan.count());
  for (const ResourceUse& use : report_.resources) {
    BOOST_TEST(use.utilisation >= 0);
    BOOST_TEST(use.utilisation <= 1 + 1e-9);
  }
}

}  // namespace troupe::testing
