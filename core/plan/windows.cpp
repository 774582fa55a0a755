#include "core/plan/windows.hpp"

#include <limits>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::uint32_t unlisted = std::numeric_limits<std::uint32_t>::max();

struct Listing {
  std::vector<std::uint32_t> window_of_group;
  std::vector<WindowOps> windows;

  std::uint32_t window_of(const Graph& graph, OpId op) const {
    return window_of_group[graph.group_of(op).index()];
  }
};

Listing list_steps(const Graph& graph, const Scenario& scenario) {
  Listing listing;
  listing.window_of_group.assign(graph.group_count(), unlisted);
  listing.windows.emplace_back();
  for (const Step& step : scenario.steps) {
    if (step.is_wait()) {
      if (!listing.windows.back().ops.empty()) listing.windows.emplace_back();
      continue;
    }
    if (step.group.index() >= graph.group_count()) {
      throw usage_error(
          step.place,
          fmt::format("scenario '{}' lists a group that the graph doesn't have", scenario.name),
          "list what begin_group() has returned");
    }
    const Group& group = graph.group(step.group);
    std::uint32_t& listed_in = listing.window_of_group[step.group.index()];
    if (listed_in != unlisted && group.count > 0) {
      throw usage_error(step.place,
                        fmt::format("scenario '{}' lists '{}' twice", scenario.name, group.name),
                        "list each task once; its results can't be made twice");
    }
    listed_in = static_cast<std::uint32_t>(listing.windows.size() - 1);
    listing.windows.back().ops.append(group.first, group.count);
  }
  if (listing.windows.back().ops.empty()) listing.windows.pop_back();
  for (WindowOps& window : listing.windows) window.ops.sort();
  return listing;
}

[[noreturn]] void refuse_order(const Graph& graph, const Scenario& scenario, OpId op, OpId input) {
  throw usage_error(scenario.place,
                    fmt::format("scenario '{}' starts '{}' before what it needs: '{}' is listed "
                                "only after a later wait",
                                scenario.name, graph.name(op), graph.name(input)),
                    "list it earlier, or leave it out to have it prepared before the clock starts");
}

}  // namespace

std::vector<WindowOps> scenario_windows(const Graph& graph, const Scenario& scenario) {
  Listing listing = list_steps(graph, scenario);
  const bool lists_all_at_once =
      listing.windows.size() == 1 && listing.windows[0].ops.size() == graph.size();
  if (lists_all_at_once) return std::move(listing.windows);  // no op is missing or listed too late
  std::vector<bool> needed(graph.size(), false);
  for (std::uint32_t w = 0; w < listing.windows.size(); ++w) {
    for (const OpId op : listing.windows[w].ops) {
      for (const OpId input : graph.inputs(op)) {
        const std::uint32_t made_in = listing.window_of(graph, input);
        if (made_in == unlisted) {
          needed[input.index()] = true;
        } else if (made_in > w) {
          refuse_order(graph, scenario, op, input);
        }
      }
    }
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const OpId op = OpId::at(i);
    for (const OpId input : graph.inputs(op)) {
      const std::uint32_t made_in = listing.window_of(graph, input);
      if (made_in != unlisted) {
        throw usage_error(
            scenario.place,
            fmt::format("scenario '{}' needs '{}', which is not listed and itself needs the listed "
                        "'{}'",
                        scenario.name, graph.name(op), graph.name(input)),
            fmt::format("list '{}' too", graph.group(graph.group_of(op)).name));
      }
      needed[input.index()] = true;
    }
  }
  WindowOps prepared{.ops = {}, .timed = false};
  for (std::size_t i = 0; i < graph.size(); ++i) {
    // An op makes all of its outputs, whichever are needed.
    if (needed[graph.maker(OpId::at(i)).index()]) prepared.ops.append(OpId::at(i));
  }
  if (!prepared.ops.empty()) listing.windows.insert(listing.windows.begin(), std::move(prepared));
  return std::move(listing.windows);
}

}  // namespace troupe
