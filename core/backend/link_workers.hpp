// The work of a link, each direction by itself, on the threads that all links share.
#pragma once

#include "core/backend/slot_worker.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace troupe {

class LinkWorkers {
 public:
  // `completions` must outlive the workers.
  explicit LinkWorkers(Completions& completions)
      : workers_{SlotWorker(*pool_, completions, 0), SlotWorker(*pool_, completions, 1)} {}

  // Begins a job, as SlotWorker::submit() does, and returns that it is pending. The direction must
  // be idle.
  Started start(Direction direction, std::function<void()> job) {
    workers_[static_cast<std::size_t>(direction)].submit(std::move(job));
    return {.state = Started::State::pending};
  }

 private:
  const std::shared_ptr<WorkerPool> pool_ = WorkerPool::of_links();
  std::array<SlotWorker, 2> workers_;  // by Direction
};

}  // namespace troupe
