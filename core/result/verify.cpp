#include "core/result/verify.hpp"

#include "core/backend/digest.hpp"
#include "core/base/error.hpp"
#include "core/result/serial.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace troupe {

namespace {

// How a kept result differs from the expected values. Empty if it is equal.
std::string difference(const MemoryStore& store, ReplicaId replica,
                       std::span<const std::byte> expected, std::vector<std::byte>& from_file) {
  const std::byte* actual = store.data(replica);
  if (actual == nullptr) {
    store.read(replica, from_file);
    actual = from_file.data();
  }
  if (std::memcmp(actual, expected.data(), expected.size()) == 0) return {};
  const auto differs = std::mismatch(expected.begin(), expected.end(), actual).first;
  return fmt::format("first in element {}", static_cast<std::uint64_t>(differs - expected.begin()) /
                                                size_of(store.type(replica).dtype));
}

}  // namespace

Verdict verify(const Graph& graph, const Plan& plan, const MemoryStore& store,
               const std::function<bool()>& keep_going) {
  Verdict verdict;
  auto next = plan.results.begin();
  std::vector<std::byte> from_file;
  run_serial(graph, plan.ops, [&](OpId op, std::span<const std::byte> expected) {
    for (; next != plan.results.end() && next->op == op; ++next) {
      std::string how;
      if (next->is_kept) {
        try {
          how = difference(store, next->replica, expected, from_file);
        } catch (const Error& error) {
          throw run_error(fmt::format("'{}': {}", graph.name(op), error.problem()), error.remedy());
        }
      } else if (store.digest(next->replica) != digest_of(expected)) {
        how = "by its digest";
      }
      if (how.empty()) continue;
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
