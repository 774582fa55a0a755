#include "core/backend/cuda/gpu_of_device.hpp"

#include "core/backend/cuda/cuda_module.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

// The devices of each GPU, in their order.
std::vector<std::vector<GpuOfDevice>> by_gpu(std::span<const GpuOfDevice> gpus) {
  std::vector<std::vector<GpuOfDevice>> groups;
  for (const GpuOfDevice& gpu : gpus) {
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.front().id == gpu.id; });
    if (same == groups.end()) {
      groups.push_back({gpu});
    } else {
      same->push_back(gpu);
    }
  }
  return groups;
}

// "a", "a and b", "a, b and c"
std::string in_words(std::span<const std::string> names) {
  const std::string last(names.back());
  names = names.first(names.size() - 1);
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

// "0", or, since each node counts its own, "0 of n1"
std::string number_of(const Machine& machine, const GpuOfDevice& gpu) {
  const NodeId node = machine.device(gpu.device).node;
  return node ? fmt::format("{} of {}", gpu.number, machine.nodes[node.index()])
              : std::to_string(gpu.number);
}

// Gives the memories of one GPU no more than `room` in all, and something each: 0 means no limit.
void share_room(std::span<Memory* const> memories, std::uint64_t room, const std::string& gpu) {
  std::uint64_t wanted = 0;
  std::vector<std::string> names;
  for (const Memory* const memory : memories) {
    wanted = add_sat(wanted, memory->size_bytes);
    names.push_back(memory->name);
  }
  if (wanted <= room) return;
  std::string reason = fmt::format("what is free on GPU {}", gpu);
  if (room <= 1) {
    reason = fmt::format(
        "streams and libraries need all that is free on GPU {}: with fewer devices or streams "
        "there, some would be left",
        gpu);
  } else if (names.size() > 1) {
    reason = fmt::format("{} share {} that are free on GPU {}", in_words(names), format_bytes(room),
                         gpu);
  }
  std::uint64_t left = room;
  for (Memory* const memory : memories) {
    const double part = static_cast<double>(memory->size_bytes) / static_cast<double>(wanted);
    const auto bytes = static_cast<std::uint64_t>(part * static_cast<double>(room));
    memory->size_bytes = std::max<std::uint64_t>(std::min(bytes, left), 1);
    memory->size_reason = reason;
    left -= std::min(bytes, left);
  }
}

}  // namespace

void limit_gpu_memories(Machine& machine, std::span<const GpuOfDevice> gpus) {
  constexpr std::uint64_t stream_bytes = cuda_handle_bytes + cuda_workspace_bytes;
  for (const std::vector<GpuOfDevice>& group : by_gpu(gpus)) {
    // To open a GPU takes some of its memory, and each process has opened it before it asks what is
    // free. So the last one to ask has seen what all of them have taken.
    std::uint64_t free = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t taken = 0;
    std::vector<Memory*> memories;
    for (const GpuOfDevice& gpu : group) {
      const Device& device = machine.device(gpu.device);
      free = std::min(free, gpu.free_bytes);
      // One more: to warm up, and then for intermediate values and what doesn't fit into gaps.
      taken += (static_cast<std::uint64_t>(device.streams) + 1) * stream_bytes;
      Memory* const memory = &machine.memories[device.memory.index()];
      if (std::find(memories.begin(), memories.end(), memory) == memories.end()) {
        memories.push_back(memory);
      }
    }
    share_room(memories, free > taken ? free - taken : 1, number_of(machine, group.front()));
  }
}

std::vector<std::string> gpu_notes(const Machine& machine, std::span<const GpuOfDevice> gpus) {
  std::vector<std::string> notes;
  for (const std::vector<GpuOfDevice>& group : by_gpu(gpus)) {
    if (group.size() == 1) continue;
    std::vector<std::string> names;
    names.reserve(group.size());
    for (const GpuOfDevice& gpu : group) names.push_back(machine.device(gpu.device).name);
    notes.push_back(fmt::format("{} are the same GPU (number {}, {}).", in_words(names),
                                number_of(machine, group.front()), group.front().name));
  }
  std::vector<std::string> with_tf32;
  for (const Device& device : machine.devices) {
    if (device.kind == DeviceKind::gpu && device.tf32) with_tf32.push_back(device.name);
  }
  if (!with_tf32.empty()) {
    notes.push_back(
        fmt::format("Products of float32 on {} may take their factors in TF32, with 10 "
                    "bits of mantissa.",
                    in_words(with_tf32)));
  }
  return notes;
}

}  // namespace troupe
