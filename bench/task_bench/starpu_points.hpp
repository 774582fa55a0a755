// The points of a pattern as StarPU's tasks, for the peers that use it: a data handle for each
// payload, a task for each point. StarPU derives the dependences from the handles that tasks read
// and write, in the order of submission. It also orders each writer after the readers of the old
// payload, so two rows of payloads suffice. A handle for each task saves at most a fifth of the
// time, for twelve times the memory.
#pragma once

#include "bench/task_bench/peer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <starpu.h>

namespace troupe::bench {

// What all tasks have in common.
struct StarpuShared {
  const PointTask& task;
  const Payloads payloads{task, 2};
  FirstError error = {};
};

// The argument of a task.
struct StarpuPoint {
  StarpuShared* shared = nullptr;
  Point point = {};
};

// From after StarPU has been started until before it is shut down.
class StarpuPoints {
 public:
  // `task` must outlive this.
  explicit StarpuPoints(const PointTask& task);
  ~StarpuPoints();
  StarpuPoints(const StarpuPoints&) = delete;
  StarpuPoints& operator=(const StarpuPoints&) = delete;

  // That of the payload; points (t, i) and (t+2, i) have the same one.
  starpu_data_handle_t& handle(Point p) {
    return handles_[std::size_t{p.t % 2} * shared_.task.pattern.width + p.i];
  }

  // Calls insert(codelet, buffers, argument) for each point, row by row, which must submit a task
  // and return 0, or another number if StarPU refuses it. `buffers` holds the inputs in order, then
  // the output; `argument` is a StarpuPoint*.
  template <class Insert>
  void submit_all(Insert&& insert) {
    const Pattern& pattern = shared_.task.pattern;
    std::vector<starpu_data_descr> buffers;
    for_each_point(pattern, [&](Point p) {
      buffers.clear();
      for_each_dependence(pattern, p.t, p.i, [&](std::uint32_t column) {
        buffers.push_back({handle({p.t - 1, column}), STARPU_R});
      });
      buffers.push_back({handle(p), STARPU_W});
      StarpuPoint& argument = arguments_[pattern.first_of_row(p.t) + p.i];
      argument = {&shared_, p};
      is_refused_ = is_refused_ || insert(&codelet_, buffers, &argument) != 0;
    });
  }
  // Call when all tasks have ended. Throws a run Error if a task was refused or has failed.
  void check() const;

 private:
  StarpuShared shared_;
  std::vector<StarpuPoint> arguments_;
  std::vector<starpu_data_handle_t> handles_;
  starpu_codelet codelet_;
  bool is_refused_ = false;
};

}  // namespace troupe::bench
