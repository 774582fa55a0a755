#include "core/plan/policies/device_schedules.hpp"

#include "core/plan/policies/transfer_times.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe {
namespace {

bool is_better(Duration outlook, DeviceId device, const Opening& than) {
  return outlook < than.outlook || (outlook == than.outlook && device < than.device);
}

Duration outlook_of(Duration start, const DeviceSchedules::Want& want) {
  return sum_of(sum_of(start, want.length), want.after);
}

}  // namespace

DeviceSchedules::DeviceSchedules(const Machine& machine, std::vector<std::vector<DeviceId>> rows,
                                 Duration shortest)
    : places_(machine.devices.size()) {
  streams_.reserve(machine.devices.size());
  for (const Device& device : machine.devices) {
    streams_.emplace_back(static_cast<std::size_t>(device.streams), StreamSchedule(shortest));
  }
  for (std::vector<DeviceId>& devices : rows) {
    const auto row = static_cast<std::uint32_t>(rows_.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      places_[devices[i].index()] = {row, static_cast<std::uint32_t>(i)};
    }
    rows_.emplace_back(std::move(devices));
  }
}

void DeviceSchedules::improve(Opening& best, DeviceId device, Want want) const {
  if (!is_better(outlook_of(want.ready, want), device, best)) return;
  const std::vector<StreamSchedule>& streams = streams_[device.index()];
  for (std::size_t stream = 0; stream < streams.size(); ++stream) {
    const Duration start = streams[stream].earliest(want.ready, want.length);
    const Duration outlook = outlook_of(start, want);
    if (!is_better(outlook, device, best)) continue;
    best = {device, stream, start, sum_of(start, want.length), outlook};
  }
}

void DeviceSchedules::take(const Opening& opening) {
  std::vector<StreamSchedule>& streams = streams_[opening.device.index()];
  streams[opening.stream].take(opening.start, opening.finish - opening.start);
  StreamSchedule::Bound bound;
  for (const StreamSchedule& stream : streams) bound.add(stream.bound());
  const Place place = places_[opening.device.index()];
  rows_[place.row].update(place.place, bound);
}

DeviceSchedules::Row::Row(std::vector<DeviceId> of)
    : devices(std::move(of)), tree(2 * std::bit_ceil(devices.size())) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    tree[width() + i] = {StreamSchedule().bound(), devices[i]};
  }
  for (std::size_t v = width(); v-- > 1;) {
    tree[v] = tree[2 * v];
    tree[v].bound.add(tree[2 * v + 1].bound);
    tree[v].first = std::min(tree[v].first, tree[2 * v + 1].first);
  }
}

void DeviceSchedules::Row::update(std::size_t place, const StreamSchedule::Bound& bound) {
  std::size_t v = width() + place;
  tree[v].bound = bound;
  for (v /= 2; v > 0; v /= 2) {
    StreamSchedule::Bound both = tree[2 * v].bound;
    both.add(tree[2 * v + 1].bound);
    if (both == tree[v].bound) return;
    tree[v].bound = both;
  }
}

void DeviceSchedules::Row::improve(const DeviceSchedules& all, Opening& best, Range range,
                                   Want want) const {
  search(all, best, range, want, 1, {0, width()});
}

// `below` is the range of all devices below the vertex. Where the bound is lower, it is searched
// first, so that the other half is mostly left out.
void DeviceSchedules::Row::search(const DeviceSchedules& all, Opening& best, Range range, Want want,
                                  std::size_t vertex, Range below) const {
  if (below.first >= range.last || below.last <= range.first) return;
  const auto bound = [&](std::size_t v) { return tree[v].bound.earliest(want.ready, want.length); };
  if (!is_better(outlook_of(bound(vertex), want), tree[vertex].first, best)) return;
  if (vertex >= width()) return all.improve(best, devices[below.first], want);
  const std::size_t middle = (below.first + below.last) / 2;
  const bool is_right_first = bound(2 * vertex + 1) < bound(2 * vertex);
  for (const bool is_right : {is_right_first, !is_right_first}) {
    search(all, best, range, want, 2 * vertex + (is_right ? 1 : 0),
           is_right ? Range{middle, below.last} : Range{below.first, middle});
  }
}

}  // namespace troupe
