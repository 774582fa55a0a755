#include "core/result/verify.hpp"

#include "core/base/error.hpp"
#include "core/result/serial.hpp"

#include <algorithm>
#include <cstdint>
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

}  // namespace

Verdict verify(const Graph& graph, const Plan& plan, Results& results,
               const std::function<bool()>& keep_going) {
  Verdict verdict;
  auto next = plan.results.begin();
  run_serial(graph, plan.ops, [&](OpId op, std::span<const std::byte> expected) {
    for (; next != plan.results.end() && next->op == op; ++next) {
      std::string how = "by its digest";
      try {
        if (results.is_equal(next->replica, next->is_kept, expected)) continue;
        if (next->is_kept) {
          how = difference(results.values(next->replica), expected, graph.type(op).dtype);
        }
      } catch (const Error& error) {
        throw run_error(fmt::format("'{}': {}", graph.name(op), error.problem()), error.remedy());
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
