#include "core/backend/cuda/cuda_backend.hpp"

#include "core/backend/cuda/kernels/kinds.hpp"
#include "core/backend/cuda/load_cuda.hpp"
#include "core/base/error.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

// The number that a device which is a GPU has on its host, whether or not there is such a one; -1:
// it is none.
int number_of(const Machine& machine, DeviceId id) {
  const Device& device = machine.device(id);
  if (device.kind != DeviceKind::gpu) return -1;
  if (device.gpu >= 0) return device.gpu;
  return static_cast<int>(std::count_if(
      machine.devices.begin(), machine.devices.begin() + static_cast<std::ptrdiff_t>(id.index()),
      [&](const Device& d) {
        return d.kind == DeviceKind::gpu && d.gpu < 0 && d.node == device.node;
      }));
}

// Of the GPU whose memory this is; -1: it isn't a GPU's.
int number_of(const Machine& machine, MemoryId memory) {
  const Device* const owner = owning_gpu(machine, memory);
  if (owner == nullptr) return -1;
  return number_of(machine, DeviceId::at(static_cast<std::size_t>(owner - machine.devices.data())));
}

bool has_gpu(int number) {
  return number < cuda_gpu_count();
}

// It computes in its own memory only.
bool cuda_fits_device(const Machine& machine, DeviceId id) {
  const int gpu = number_of(machine, id);
  return gpu >= 0 && number_of(machine, machine.device(id).memory) == gpu;
}

bool cuda_device_is_here(const Machine& machine, DeviceId id) {
  return has_gpu(number_of(machine, id));
}

bool cuda_fits_link(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  const bool a = number_of(machine, link.a) >= 0;
  const bool b = number_of(machine, link.b) >= 0;
  return (a && b) || (a && is_host_ram(machine, link.b)) || (b && is_host_ram(machine, link.a));
}

bool cuda_link_is_here(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  return has_gpu(std::max(number_of(machine, link.a), number_of(machine, link.b)));
}

// The devices of this process that CUDA computes for, by the numbers of their GPUs. Given `self`,
// they are those of this node.
std::map<int, std::vector<DeviceId>> devices_by_gpu(const Machine& machine, NodeId self = {}) {
  std::map<int, std::vector<DeviceId>> devices;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const DeviceId id = DeviceId::at(d);
    if (self && machine.devices[d].node != self) continue;
    if (!cuda_fits_device(machine, id) || !cuda_device_is_here(machine, id)) continue;
    devices[number_of(machine, id)].push_back(id);
  }
  return devices;
}

// "a", "a and b", "a, b and c"
std::string in_words(std::span<const std::string> names) {
  const std::string last(names.back());
  names = names.first(names.size() - 1);
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

// Gives the memories of one GPU no more than `room` in all, and something each: 0 means no limit.
void share_room(std::span<Memory* const> memories, std::uint64_t room, int gpu) {
  std::uint64_t wanted = 0;
  std::vector<std::string> names;
  for (const Memory* const memory : memories) {
    wanted = add_sat(wanted, memory->size_bytes);
    names.push_back(memory->name);
  }
  if (wanted <= room) return;
  const std::string reason = names.size() == 1
                                 ? fmt::format("what is free on GPU {}", gpu)
                                 : fmt::format("{} share {} that are free on GPU {}",
                                               in_words(names), format_bytes(room), gpu);
  std::uint64_t left = room;
  for (Memory* const memory : memories) {
    const double part = static_cast<double>(memory->size_bytes) / static_cast<double>(wanted);
    const auto bytes = static_cast<std::uint64_t>(part * static_cast<double>(room));
    memory->size_bytes = std::max<std::uint64_t>(std::min(bytes, left), 1);
    memory->size_reason = reason;
    left -= std::min(bytes, left);
  }
}

std::uint32_t depth_of(const Device& device) {
  return device.issue_depth > 0 ? static_cast<std::uint32_t>(device.issue_depth) : cuda_issue_depth;
}

std::uint32_t device_depth(const Machine& machine, DeviceId id) {
  return depth_of(machine.device(id));
}

// The lesser depth of the GPUs at its ends.
std::uint32_t link_depth(const Machine& machine, LinkId id) {
  std::uint32_t depth = std::numeric_limits<std::uint32_t>::max();
  for (const MemoryId end : {machine.link(id).a, machine.link(id).b}) {
    if (const Device* const gpu = owning_gpu(machine, end)) depth = std::min(depth, depth_of(*gpu));
  }
  return depth;
}

}  // namespace

DeviceBackendEntry cuda_device_backend() {
  return {.name = "cuda",
          .fits = cuda_fits_device,
          .has_kernel =
              [](const Machine&, DeviceId, const OpKind& kind) {
                return std::find(cuda_kinds.begin(), cuda_kinds.end(), kind.name) !=
                       cuda_kinds.end();
              },
          .make =
              [](const BackendContext& context, DeviceId id) {
                return load_cuda().module->make_device(context, id, number_of(context.machine, id),
                                                       device_depth(context.machine, id));
              },
          .mode = Mode::run,
          .order = cuda_order,
          .issue_depth = device_depth,
          .is_exact = false,
          .is_here = cuda_device_is_here};
}

LinkBackendEntry cuda_link_backend() {
  return {.name = "cuda",
          .fits = cuda_fits_link,
          .make =
              [](const BackendContext& context, LinkId id) {
                const Link& link = context.machine.link(id);
                return load_cuda().module->make_link(
                    context,
                    {.gpu_of_a = number_of(context.machine, link.a),
                     .gpu_of_b = number_of(context.machine, link.b)},
                    link_depth(context.machine, id));
              },
          .mode = Mode::run,
          .order = cuda_order,
          .issue_depth = link_depth,
          .is_here = cuda_link_is_here};
}

std::unique_ptr<MemorySpace> make_cuda_space(const Machine& machine, MemoryId memory) {
  const int gpu = number_of(machine, memory);
  if (gpu >= 0) return has_gpu(gpu) ? load_cuda().module->make_space(gpu) : nullptr;
  if (!is_host_ram(machine, memory)) return nullptr;
  const bool is_linked =
      std::any_of(machine.links.begin(), machine.links.end(), [&](const Link& link) {
        return (link.a == memory && number_of(machine, link.b) >= 0) ||
               (link.b == memory && number_of(machine, link.a) >= 0);
      });
  return is_linked && has_gpu(0) ? load_cuda().module->make_pinned_space() : nullptr;
}

void limit_gpu_memories(Machine& machine, NodeId self) {
  // Of each device: for the libraries, for intermediate values, and for what doesn't fit into gaps.
  constexpr std::uint64_t reserve_bytes = 64 << 20;
  for (const auto& [number, devices] : devices_by_gpu(machine, self)) {
    const std::optional<CudaGpu> gpu = load_cuda().module->gpu(number);
    if (!gpu) continue;
    std::uint64_t taken = 0;
    std::vector<Memory*> memories;
    for (const DeviceId d : devices) {
      const Device& device = machine.device(d);
      taken += reserve_bytes + static_cast<std::uint64_t>(device.streams) * cuda_workspace_bytes;
      Memory* const memory = &machine.memories[device.memory.index()];
      if (std::find(memories.begin(), memories.end(), memory) == memories.end()) {
        memories.push_back(memory);
      }
    }
    share_room(memories, gpu->free_bytes > taken ? gpu->free_bytes - taken : 1, number);
  }
}

std::vector<std::string> gpu_notes(const Machine& machine) {
  std::vector<std::string> notes;
  for (const auto& [number, devices] : devices_by_gpu(machine)) {
    if (devices.size() == 1) continue;
    const std::optional<CudaGpu> gpu = load_cuda().module->gpu(number);
    std::vector<std::string> names;
    for (const DeviceId d : devices) names.push_back(machine.device(d).name);
    notes.push_back(fmt::format("{} are the same GPU (number {}{}).", in_words(names), number,
                                gpu ? ", " + gpu->name : ""));
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

int cuda_gpu_count() {
  return cuda_problem().empty() ? load_cuda().module->count() : 0;
}

std::vector<CudaGpu> cuda_gpus() {
  std::vector<CudaGpu> found;
  for (int number = 0; number < cuda_gpu_count(); ++number) {
    if (std::optional<CudaGpu> gpu = load_cuda().module->gpu(number)) {
      found.push_back(std::move(*gpu));
    }
  }
  return found;
}

std::string cuda_problem() {
  const LoadedCuda& loaded = load_cuda();
  return loaded.module != nullptr ? loaded.module->problem() : loaded.problem;
}

}  // namespace troupe
