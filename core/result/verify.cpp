#include "core/result/verify.hpp"

#include "core/base/error.hpp"
#include "core/result/serial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace troupe {

namespace {

// How a result differs from the expected values, which it does.
std::string difference(std::span<const std::byte> actual, std::span<const std::byte> expected,
                       DType dtype) {
  const auto differs = std::mismatch(expected.begin(), expected.end(), actual.begin()).first;
  return fmt::format("first in element {}",
                     static_cast<std::uint64_t>(differs - expected.begin()) / size_of(dtype));
}

// The first element that isn't near enough to the expected one; none: all are.
template <class T>
std::optional<std::size_t> first_far(std::span<const std::byte> actual,
                                     std::span<const std::byte> expected, double tolerance) {
  const std::span a(reinterpret_cast<const T*>(actual.data()), actual.size() / sizeof(T));
  const std::span e(reinterpret_cast<const T*>(expected.data()), expected.size() / sizeof(T));
  T largest{0};
  for (const T value : e) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const double apart = std::abs(static_cast<double>(a[i]) - static_cast<double>(e[i]));
    if (!(apart <= tolerance * static_cast<double>(largest))) return i;
  }
  return std::nullopt;
}

// The same for any type; integers must be equal.
std::optional<std::size_t> first_far(std::span<const std::byte> actual,
                                     std::span<const std::byte> expected, DType dtype,
                                     Comparison comparison) {
  const double tolerance = near_enough(comparison, dtype);
  if (dtype == DType::f32) return first_far<float>(actual, expected, tolerance);
  if (dtype == DType::f64) return first_far<double>(actual, expected, tolerance);
  const auto differs = std::mismatch(expected.begin(), expected.end(), actual.begin()).first;
  if (differs == expected.end()) return std::nullopt;
  return static_cast<std::size_t>(differs - expected.begin()) / size_of(dtype);
}

}  // namespace

double near_enough(Comparison comparison, DType dtype) {
  if (comparison == Comparison::bits) return 0;
  if (dtype == DType::f32) return comparison == Comparison::nearness_tf32 ? 0x1p-8 : 1e-5;
  return dtype == DType::f64 ? 1e-12 : 0;
}

Verdict verify(const Graph& graph, const Plan& plan, Results& results, Comparison comparison,
               std::int64_t widest_team, const std::function<bool()>& keep_going) {
  Verdict verdict;
  auto next = plan.results.begin();
  run_serial(graph, plan.ops, widest_team, [&](OpId op, std::span<const std::byte> expected) {
    for (; next != plan.results.end() && next->op == op; ++next) {
      std::string how = "by its digest";
      try {
        if (comparison != Comparison::bits && next->is_kept) {
          const auto far =
              first_far(results.values(next->replica), expected, graph.type(op).dtype, comparison);
          if (!far) continue;
          verdict.equal = false;
          verdict.mismatch = fmt::format(
              "'{}' is not near the serial execution, first in element {} (sums that cancel may be "
              "further off; --no-verify compares nothing)",
              graph.name(op), *far);
          return false;
        }
        if (results.is_equal(next->replica, next->is_kept, expected)) continue;
        if (next->is_kept) {
          how = difference(results.values(next->replica), expected, graph.type(op).dtype);
        }
      } catch (const Error& error) {
        throw run_error(fmt::format("'{}' can't be compared: {}", graph.name(op), error.problem()),
                        error.remedy());
      }
      verdict.equal = false;
      verdict.mismatch =
          fmt::format("'{}' differs from the serial execution, {}", graph.name(op), how);
      return false;
    }
    verdict.complete = keep_going();
    return verdict.complete;
  });
  return verdict;
}

}  // namespace troupe
