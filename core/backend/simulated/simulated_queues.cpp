#include "core/backend/simulated/simulated_queues.hpp"

namespace troupe {

std::uint32_t simulated_issue_depth(const Machine& machine, DeviceId device) {
  return static_cast<std::uint32_t>(machine.device(device).issue_depth);
}

std::uint32_t simulated_issue_depth(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  std::uint32_t depth = 0;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const MemoryId memory = machine.devices[d].memory;
    if (memory != link.a && memory != link.b) continue;
    depth = std::max(depth, simulated_issue_depth(machine, DeviceId::at(d)));
  }
  return depth;
}

}  // namespace troupe
