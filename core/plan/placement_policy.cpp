#include "core/plan/placement_policy.hpp"

#include "core/base/error.hpp"
#include "core/plan/policies/shortest_placement.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace troupe {

std::span<const PlacementPolicy> placement_policies() {
  static constexpr std::array policies{
      PlacementPolicy{"heft", shortest_placement},
  };
  return policies;
}

const PlacementPolicy& find_placement_policy(std::string_view name) {
  const std::span<const PlacementPolicy> policies = placement_policies();
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const PlacementPolicy& p) { return p.name == name; });
  if (found != policies.end()) return *found;
  std::string names;
  for (const PlacementPolicy& p : policies) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
  }
  throw usage_error(fmt::format("there is no placement policy '{}'", name),
                    fmt::format("choose one of: {}", names));
}

}  // namespace troupe
