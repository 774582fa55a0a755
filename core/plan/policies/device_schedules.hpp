// When the streams of all devices are busy, and which device would end an op first.
#pragma once

#include "core/base/id.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/policies/stream_schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// A place for an op in the schedules; with no device, none was found.
struct Opening {
  DeviceId device;
  std::size_t stream = 0;
  Duration start{0};
  Duration finish = Duration::max();
  Duration outlook = Duration::max();  // the finish, and what follows the op
};

// Devices that take the same time for each op form a row. A search over a row is a binary tree's,
// whose vertices know bounds for the devices below: where all is alike it takes O(log devices).
class DeviceSchedules {
 public:
  // Each device must be in one row. No op may take less than `shortest`.
  DeviceSchedules(const Machine& machine, std::vector<std::vector<DeviceId>> rows,
                  Duration shortest);

  // When the op's inputs are there, how long it takes, and how long at least what follows it.
  struct Want {
    Duration ready{0};
    Duration length{0};
    Duration after{0};
  };

  // Replaces `best` by the first free interval of the device, if its outlook is earlier, or the
  // same on a device with a lower number.
  void improve(Opening& best, DeviceId device, Want want) const;
  // The same for the devices first to last - 1 of a row.
  void improve(Opening& best, std::size_t row, std::size_t first, std::size_t last,
               Want want) const {
    rows_[row].improve(*this, best, {first, last}, want);
  }
  // Makes the interval busy.
  void take(const Opening& opening);

  std::size_t row_count() const { return rows_.size(); }
  std::span<const DeviceId> row(std::size_t r) const { return rows_[r].devices; }

 private:
  struct Range {
    std::size_t first;
    std::size_t last;  // behind it
  };
  struct Row {
    std::vector<DeviceId> devices;
    // A binary tree: the vertices below v are 2 v and 2 v + 1, and the devices are at the bottom.
    struct Vertex {
      StreamSchedule::Bound bound;
      DeviceId first;  // the lowest number
    };
    std::vector<Vertex> tree;

    explicit Row(std::vector<DeviceId> of);
    std::size_t width() const { return tree.size() / 2; }
    void update(std::size_t place, const StreamSchedule::Bound& bound);
    void improve(const DeviceSchedules& all, Opening& best, Range range, Want want) const;
    void search(const DeviceSchedules& all, Opening& best, Range range, Want want,
                std::size_t vertex, Range below) const;
  };
  struct Place {
    std::uint32_t row = 0;
    std::uint32_t place = 0;
  };

  std::vector<std::vector<StreamSchedule>> streams_;  // by device
  std::vector<Place> places_;                         // by device
  std::vector<Row> rows_;
};

}  // namespace troupe
