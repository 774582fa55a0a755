#include "core/backend/cuda/cuda_backend.hpp"

#include "core/backend/cuda/kernels/kinds.hpp"
#include "core/backend/cuda/load_cuda.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>

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
          .is_here = cuda_device_is_here,
          .warm_up =
              [](const Machine& machine, DeviceId id, std::span<const KernelSample> ops) {
                load_cuda().module->warm_up(number_of(machine, id), machine.device(id), ops);
              }};
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
  if (gpu >= 0) {
    const std::uint64_t bytes_max = machine.memory(memory).size_bytes;
    return has_gpu(gpu) ? load_cuda().module->make_space(gpu, bytes_max) : nullptr;
  }
  if (!is_host_ram(machine, memory)) return nullptr;
  for (const Link& link : machine.links) {
    if (link.a != memory && link.b != memory) continue;
    const int linked = number_of(machine, link.a == memory ? link.b : link.a);
    if (linked >= 0 && has_gpu(linked)) return load_cuda().module->make_pinned_space(linked);
  }
  return nullptr;
}

namespace {

using OnProblem = std::function<void(const Device& device, const CudaGpu& gpu)>;

std::vector<GpuOfDevice> find_gpus(const Machine& machine, NodeId self,
                                   const OnProblem& on_problem) {
  std::vector<GpuOfDevice> gpus;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const DeviceId id = DeviceId::at(d);
    if (self && machine.devices[d].node != self) continue;
    if (!cuda_fits_device(machine, id) || !cuda_device_is_here(machine, id)) continue;
    const int number = number_of(machine, id);
    CudaGpu gpu = load_cuda().module->gpu(number);
    if (!gpu.problem.empty()) {
      on_problem(machine.devices[d], gpu);
      continue;
    }
    gpus.push_back({.device = id,
                    .number = number,
                    .name = std::move(gpu.name),
                    .id = std::move(gpu.id),
                    .free_bytes = gpu.free_bytes});
  }
  return gpus;
}

}  // namespace

std::string name_of(const CudaGpu& gpu) {
  return fmt::format("GPU {}{}", gpu.number, gpu.name.empty() ? "" : ", " + gpu.name);
}

std::vector<GpuOfDevice> gpus_of_devices(const Machine& machine, NodeId self) {
  return find_gpus(machine, self, [](const Device&, const CudaGpu&) {});
}

std::vector<GpuOfDevice> demand_gpus_of_devices(const Machine& machine, NodeId self) {
  return find_gpus(machine, self, [](const Device& device, const CudaGpu& gpu) {
    throw usage_error(device.place,
                      fmt::format("{} is {}: {}", device.name, name_of(gpu), gpu.problem));
  });
}

int cuda_gpu_count() {
  return cuda_problem().empty() ? load_cuda().module->count() : 0;
}

std::vector<CudaGpu> cuda_gpus() {
  const int count = cuda_gpu_count();
  std::vector<CudaGpu> found;
  found.reserve(static_cast<std::size_t>(count));
  for (int number = 0; number < count; ++number) {
    found.push_back(load_cuda().module->gpu(number));
  }
  return found;
}

CudaIssued cuda_issued(const CudaGpu& gpu) {
  return load_cuda().module->issued(gpu.number);
}

bool cuda_are_peers(const CudaGpu& a, const CudaGpu& b) {
  return load_cuda().module->are_peers(a.number, b.number);
}

std::string cuda_problem() {
  const LoadedCuda& loaded = load_cuda();
  return loaded.module != nullptr ? loaded.module->problem() : loaded.problem;
}

}  // namespace troupe
