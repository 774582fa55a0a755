// The threads that a CPU device computes with: the calling one and helpers.
#pragma once

#include "core/ops/op_kind.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace troupe {

// A helper without work spins for some microseconds, then sleeps. A job doesn't wait for helpers
// that wake too late to take a part of it. One that comes in while the others are at the last parts
// spins for longer, so that it is there for the next job.
//
//   ThreadTeam team(std::vector{1, 2});  // the caller, and helpers on cores 1 and 2
//   team.run(100, [&](std::size_t i) { row(i); });
class ThreadTeam final : public Team {
 public:
  static constexpr int any_core = -1;

  // One helper for each entry, pinned to that core (or to none: any_core).
  explicit ThreadTeam(std::span<const int> helper_cores, std::int64_t widest_team = 1);
  ~ThreadTeam() override;
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  std::size_t size() const override { return helpers_.size() + 1; }
  std::int64_t widest_team() const override { return widest_team_; }

  // Only one thread may call this at a time, and those that run `f`: each does all by itself then.
  // If `f` throws, indices that no thread has begun are left out, and the first exception is
  // rethrown here.
  void run(std::size_t n, const std::function<void(std::size_t)>& f) override;

 private:
  void help(int core, std::size_t number);
  void dismiss();    // ends all helpers
  bool take_part();  // whether anything was left to take
  bool enter();
  void leave();

  static inline thread_local const ThreadTeam* working_for_ = nullptr;  // this thread runs an `f`

  const std::int64_t widest_team_;

  // The job: written by run() while the gate is closed and no helper is inside.
  const std::function<void(std::size_t)>* f_ = nullptr;
  std::size_t n_ = 0;
  std::exception_ptr error_;
  std::mutex error_mutex_;

  // Each on a cache line of its own, so that waiting threads don't slow down working ones.
  alignas(64) std::atomic<std::size_t> next_{0};         // the first index not taken
  alignas(64) std::atomic<std::uint32_t> gate_{0};       // open_bit + helpers inside the job
  alignas(64) std::atomic<std::uint32_t> announced_{0};  // counts jobs, and the end
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;  // last: they use all the others
};

}  // namespace troupe
