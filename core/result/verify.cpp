#include "core/result/verify.hpp"

#include "core/backend/serial.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace troupe {

Verdict verify(const Graph& graph, const Plan& plan, const MemoryStore& store,
               const std::function<bool()>& keep_going) {
  Verdict verdict;
  auto next = plan.results.begin();
  std::vector<std::byte> from_file;
  run_serial(graph, plan.ops, [&](OpId op, std::span<const std::byte> expected) {
    for (; next != plan.results.end() && next->op == op; ++next) {
      const std::byte* actual = store.data(next->replica);
      if (actual == nullptr) {
        store.read(next->replica, from_file);
        actual = from_file.data();
      }
      if (std::memcmp(actual, expected.data(), expected.size()) == 0) continue;
      const auto differs = std::mismatch(expected.begin(), expected.end(), actual).first;
      const std::uint64_t element =
          static_cast<std::uint64_t>(differs - expected.begin()) / size_of(graph.type(op).dtype);
      verdict.equal = false;
      verdict.mismatch = fmt::format("'{}' differs from the serial execution, first in element {}",
                                     graph.name(op), element);
      return false;
    }
    verdict.complete = keep_going();
    return verdict.complete;
  });
  return verdict;
}

}  // namespace troupe
