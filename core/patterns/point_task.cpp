#include "core/patterns/point_task.hpp"

#include "core/base/error.hpp"

#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// The fraction of the task's work that this point does.
double share_of(const PointTask& task, Point p) {
  if (task.imbalance == 0) return 1;
  // ~ makes this sequence differ from that of random_nearest.
  const std::uint64_t row = mix(~mix(task.pattern.seed) + p.t);
  const double u = static_cast<double>(mix(row + p.i) >> 11) * 0x1p-53;
  return 1 - task.imbalance * u;
}

void spin(std::int64_t iterations) {
  // From these values a*a + a climbs towards 0 and never reaches it: see core/ops/spin.cpp.
  alignas(64) std::array<double, 64> a;
  for (std::size_t j = 0; j < a.size(); ++j) a[j] = -0.125 - 0.25 * static_cast<double>(j) / 64;
  for (std::int64_t n = 0; n < iterations; ++n) {
    for (double& x : a) x = x * x + x;
  }
  // Keeps the compiler from removing the loop, whose result is not used.
  asm volatile("" : : "r"(a.data()) : "memory");
}

void move_bytes(std::int64_t bytes) {
  thread_local std::vector<std::byte> buffer;
  const auto half = static_cast<std::size_t>(bytes) / 2;
  if (buffer.size() < 2 * half) buffer.resize(2 * half);
  std::memcpy(buffer.data() + half, buffer.data(), half);
  asm volatile("" : : "r"(buffer.data()) : "memory");
}

template <class T>
void expect_range(std::string_view what, T value, T value_min, T value_max) {
  if (value >= value_min && value <= value_max) return;
  throw usage_error(fmt::format("{} is {}", what, value),
                    fmt::format("it goes from {} to {}", value_min, value_max));
}

}  // namespace

double PointTask::mean_flops() const {
  if (work != PointWork::spin) return 0;
  return 128.0 * static_cast<double>(iterations) * (1 - imbalance / 2);
}

double PointTask::mean_bytes() const {
  if (work != PointWork::memory) return 0;
  return static_cast<double>(bytes) * (1 - imbalance / 2);
}

void PointTask::check() const {
  pattern.check();
  expect_range<std::uint64_t>("the seed", pattern.seed, 0, Pattern::seed_max);
  expect_range<std::int64_t>("the number of iterations", iterations, 0, iterations_max);
  expect_range<std::int64_t>("the number of bytes", bytes, 0, bytes_max);
  expect_range<double>("the imbalance", imbalance, 0, 1);
  expect_range<std::uint64_t>("the number of output bytes", output_bytes, pair_bytes, bytes_max);
}

void do_work(const PointTask& task, const Point& point) {
  const double share = share_of(task, point);
  const auto part = [share](std::int64_t n) {
    return static_cast<std::int64_t>(static_cast<double>(n) * share + 0.5);
  };
  if (task.work == PointWork::spin) spin(part(task.iterations));
  if (task.work == PointWork::memory) move_bytes(part(task.bytes));
}

void refuse_payload(std::span<const std::byte> payload, const Point& expected, const Point& reader,
                    std::size_t input) {
  const PointTask::Pair wanted = PointTask::pair_of(expected);
  for (std::size_t at = 0; at < payload.size(); at += sizeof wanted) {
    PointTask::Pair found;
    std::memcpy(found.data(), payload.data() + at, sizeof found);
    if (found == wanted) continue;
    throw run_error(
        fmt::format("input {} of point ({}, {}) carries ({}, {}) at byte {} and not "
                    "({}, {})",
                    input, reader.t, reader.i, found[0], found[1], at, wanted[0], wanted[1]),
        "it was made by another op, read too early or overwritten");
  }
  throw run_error("a payload differs");
}

}  // namespace troupe
