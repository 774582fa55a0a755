// The work of one point of a Task Bench pattern. Troupe's op `point` and the peers in bench/ call
// the same functions.
//
// A point's output, its payload, is the pair (t, i) of 64-bit integers, repeated until the output
// is full. Every reader checks the whole payload, so that each benchmark also tests correctness.
#pragma once

#include "core/ops/attrs.hpp"
#include "core/patterns/dependence.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace troupe {

enum class PointWork : std::uint8_t {
  empty,   // only checks the inputs
  spin,    // a = a*a + a over 64 doubles, `iterations` times: 128 FLOPs per iteration
  memory,  // copies `bytes`/2 within a buffer of the thread: `bytes` are read or written
};
inline constexpr std::array<std::string_view, 3> point_work_names = {"empty", "spin", "memory"};

struct PointTask {
  Pattern pattern;
  PointWork work = PointWork::empty;
  std::int64_t iterations = 0;
  std::int64_t bytes = 0;
  // Each point does (1 - imbalance * u) of its work, with u uniform over [0, 1) by a hash of the
  // seed, t and i. From 0 to 1.
  double imbalance = 0;
  std::uint64_t output_bytes = 16;  // rounded up to whole pairs

  using Pair = std::array<std::int64_t, 2>;
  static constexpr Pair pair_of(const Point& p) { return {std::int64_t{p.t}, std::int64_t{p.i}}; }
  static constexpr std::uint64_t pair_bytes = sizeof(Pair);
  static constexpr std::int64_t iterations_max = 1'000'000'000'000;
  static constexpr std::int64_t bytes_max = std::int64_t{1} << 30;

  std::uint64_t payload_bytes() const {
    return (output_bytes + pair_bytes - 1) / pair_bytes * pair_bytes;
  }
  // The work of one point, averaged over the imbalance.
  double mean_flops() const;
  double mean_bytes() const;  // read or written by the work, without payloads

  // Throws a usage Error if Pattern::check does or a number is out of range.
  void check() const;
};

// Does the work of a point, without checking inputs, on the calling thread. Blocks until done.
void do_work(const PointTask& task, const Point& point);

// check_payload throws a run Error unless the payload is that of `expected`. The message names
// `reader` and `input`. refuse_payload throws that Error.
[[noreturn]] void refuse_payload(std::span<const std::byte> payload, const Point& expected,
                                 const Point& reader, std::size_t input);
inline void check_payload(std::span<const std::byte> payload, const Point& expected,
                          const Point& reader, std::size_t input) {
  const PointTask::Pair wanted = PointTask::pair_of(expected);
  for (std::size_t at = 0; at < payload.size(); at += sizeof wanted) {
    if (std::memcmp(payload.data() + at, wanted.data(), sizeof wanted) == 0) continue;
    refuse_payload(payload, expected, reader, input);
  }
}
inline void write_payload(std::span<std::byte> payload, const Point& point) {
  const PointTask::Pair pair = PointTask::pair_of(point);
  for (std::size_t at = 0; at < payload.size(); at += sizeof pair) {
    std::memcpy(payload.data() + at, pair.data(), sizeof pair);
  }
}

// Checks the inputs of a point. `input(k, column)` must return the payload of the k-th dependence,
// point (t-1, column), as a std::span<const std::byte>. Returns the number of dependences. Throws a
// run Error if a payload is not that of the dependence.
template <class Input>
std::size_t check_inputs(const Pattern& pattern, const Point& point, Input&& input) {
  std::size_t k = 0;
  for_each_dependence(pattern, point.t, point.i, [&](std::uint32_t column) {
    check_payload(input(k, column), Point{point.t - 1, column}, point, k);
    ++k;
  });
  return k;
}

// Executes a point on the calling thread: checks its inputs, does the work, writes the payload.
// `input`, the result and errors are those of check_inputs.
template <class Input>
std::size_t carry_out(const PointTask& task, const Point& point, Input&& input,
                      std::span<std::byte> output) {
  const std::size_t k = check_inputs(task.pattern, point, input);
  if (task.work != PointWork::empty) do_work(task, point);
  write_payload(output, point);
  return k;
}

// `task` as the attributes of op `point`.
Attrs to_attrs(const PointTask& task);

}  // namespace troupe
