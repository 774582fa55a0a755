// Helpers for the peers: memory for payloads, a stopwatch, the first error of many threads.
#pragma once

#include "bench/task_bench/runtime.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/memory/buffer_pool.hpp"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <span>

#include <fmt/format.h>

namespace troupe::bench {

class Stopwatch {
 public:
  Duration elapsed() const { return std::chrono::steady_clock::now() - begin_; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Slots for the payloads of the last `rows` rows. With two rows, the tasks of a row overwrite the
// payloads of the row before the one they read. That is correct only if the runtime starts a writer
// after all readers of the old payload. With one row per step, every task has its own slot.
class Payloads {
 public:
  Payloads(const PointTask& task, std::uint32_t rows)
      : rows_(rows),
        width_(task.pattern.width),
        bytes_(task.payload_bytes()),
        // Whole cache lines: slots written by different threads must not share a line.
        stride_((bytes_ + line - 1) / line * line) {
    const std::size_t size = std::size_t{rows} * width_ * stride_;
    if (size <= BufferPool::usable_host_bytes()) {
      data_.reset(static_cast<std::byte*>(std::aligned_alloc(line, size)));
    }
    if (!data_) {
      throw usage_error(fmt::format("payloads of {} don't fit into memory", format_bytes(size)),
                        "make fewer or smaller ones");
    }
    std::memset(data_.get(), 0xFF, size);  // not a valid payload; populates all pages
  }

  std::span<std::byte> of(Point p) const {
    return {data_.get() + (std::size_t{p.t % rows_} * width_ + p.i) * stride_, bytes_};
  }

  // Executes the point: reads its inputs from their slots and writes its own slot.
  void carry_out(const PointTask& task, Point p) const {
    troupe::carry_out(
        task, p,
        [&](std::size_t, std::uint32_t column) -> std::span<const std::byte> {
          return of({p.t - 1, column});
        },
        of(p));
  }

 private:
  static constexpr std::size_t line = 64;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };

  std::uint32_t rows_;
  std::uint32_t width_;
  std::size_t bytes_;
  std::size_t stride_;
  std::unique_ptr<std::byte, Free> data_;
};

// Calls f(point) for every point of the pattern, row by row.
template <class F>
void for_each_point(const Pattern& pattern, F&& f) {
  for (std::uint32_t t = 0; t < pattern.steps; ++t) {
    for (std::uint32_t i = 0; i < pattern.points_of_row(t); ++i) f(Point{t, i});
  }
}

// Keeps the first exception that a task throws, so that no exception reaches the runtime.
// Thread-safe.
class FirstError {
 public:
  template <class F>
  void guard(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace troupe::bench
