#include "core/backend/registry.hpp"

#include "core/backend/cuda/cuda_backend.hpp"
#include "core/backend/file/file_backend.hpp"
#include "core/backend/memcpy/memcpy_backend.hpp"
#include "core/backend/network/network_backend.hpp"
#include "core/backend/openblas/openblas_backend.hpp"
#include "core/backend/rehearsed/rehearsed_backend.hpp"
#include "core/backend/simulated/simulated_backend.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"
#include "core/memory/host_space.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace troupe {
namespace {

// Returns the first entry that serves this mode and fits, or null.
template <class Entry, class IdType>
const Entry* first_fit(std::span<const Entry> entries, Mode mode, const Machine& machine, IdType id,
                       Locality locality) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    if (entry.mode != mode) return false;
    return locality == Locality::here ? serves(entry, machine, id) : entry.fits(machine, id);
  });
  return found == entries.end() ? nullptr : &*found;
}

std::string stand_in_remedy(const Machine& machine, const Device& gpu) {
  const auto cpu = std::find_if(machine.devices.begin(), machine.devices.end(),
                                [](const Device& d) { return d.kind == DeviceKind::cpu; });
  std::string remedy(how_to_simulate);
  if (cpu != machine.devices.end()) {
    remedy += fmt::format("; or let a CPU stand in: 'troupe run --map {}={}'", gpu.name, cpu->name);
  }
  return remedy;
}

// The other GPU that has this one's memory, where it therefore can't compute; null: none.
const Device* other_owner(const Machine& machine, const Device& gpu) {
  const Device* const owner = owning_gpu(machine, gpu.memory);
  const bool is_same = owner == &gpu || (owner != nullptr && gpu.gpu >= 0 && owner->gpu == gpu.gpu);
  return is_same ? nullptr : owner;
}

struct Refusal {
  std::string problem;
  std::string remedy;
};

// Why a GPU of a machine can't be used here.
Refusal why_no_gpu(const Machine& machine, const Device& gpu) {
  const std::string remedy = stand_in_remedy(machine, gpu);
  if (owning_gpu(machine, gpu.memory) == nullptr) {
    return {fmt::format("its memory {} is the host's, where it can't compute in a real run",
                        machine.memory(gpu.memory).name),
            remedy};
  }
  if (const Device* const owner = other_owner(machine, gpu)) {
    return {fmt::format("its memory {} is also that of {}, which is another GPU",
                        machine.memory(gpu.memory).name, owner->name),
            "give it a memory of its own, or both the same `gpu`"};
  }
  if (const std::string problem = cuda_problem(); !problem.empty()) {
    const Error none = no_usable_gpu({}, {.problem = problem});
    return {none.problem(),
            none.remedy().empty() ? remedy : fmt::format("{}; or {}", none.remedy(), remedy)};
  }
  const int count = cuda_gpu_count();
  if (gpu.gpu >= 0) {
    return {fmt::format("this machine has no GPU {}: they are 0 to {}", gpu.gpu, count - 1),
            remedy};
  }
  return {fmt::format("this machine has only {}",
                      count == 1 ? "one" : fmt::format("{} of them", count)),
          remedy};
}

}  // namespace

std::span<const DeviceBackendEntry> device_backends() {
  static const std::array entries{simulated_device_backend(), rehearsed_device_backend(),
                                  openblas_device_backend(), cuda_device_backend()};
  return entries;
}

std::span<const LinkBackendEntry> link_backends() {
  static const std::array entries{simulated_link_backend(), rehearsed_link_backend(),
                                  memcpy_link_backend(),    file_link_backend(),
                                  network_link_backend(),   cuda_link_backend()};
  return entries;
}

const DeviceBackendEntry& choose_backend(Mode mode, const Machine& machine, DeviceId id,
                                         Locality locality) {
  if (const auto* entry = first_fit(device_backends(), mode, machine, id, locality)) return *entry;
  const Device& device = machine.device(id);
  if (device.kind == DeviceKind::gpu) {
    const Refusal why = why_no_gpu(machine, device);
    throw usage_error(device.place, fmt::format("{} is a GPU, and {}", device.name, why.problem),
                      why.remedy);
  }
  throw usage_error(device.place,
                    fmt::format("nothing in this build of Troupe can run device {}", device.name),
                    std::string(how_to_simulate));
}

const LinkBackendEntry& choose_backend(Mode mode, const Machine& machine, LinkId id,
                                       Locality locality) {
  const Link& link = machine.link(id);
  const std::string ends = fmt::format("link {} joins {} and {}", link.name,
                                       machine.memory(link.a).name, machine.memory(link.b).name);
  if (mode == Mode::run && machine.memory(link.a).node != machine.memory(link.b).node &&
      !is_network_link(machine, link)) {
    throw usage_error(
        link.place, ends + ", which belong to different nodes: a network alone joins real nodes",
        "give the machine a `network` in place of this link; or " + std::string(how_to_simulate));
  }
  if (const auto* entry = first_fit(link_backends(), mode, machine, id, locality)) return *entry;
  bool joins_gpu = false;
  for (const MemoryId end : {link.a, link.b}) {
    const Device* const gpu = owning_gpu(machine, end);
    if (gpu == nullptr) continue;
    joins_gpu = true;
    const DeviceId owner = DeviceId::at(static_cast<std::size_t>(gpu - machine.devices.data()));
    if (first_fit(device_backends(), mode, machine, owner, locality) == nullptr) {
      const Refusal why = why_no_gpu(machine, *gpu);
      throw usage_error(link.place,
                        fmt::format("{}, and {} is the memory of the GPU {}: {}", ends,
                                    machine.memory(end).name, gpu->name, why.problem),
                        why.remedy);
    }
  }
  if (joins_nodes(machine, link.a) && joins_nodes(machine, link.b)) {
    throw usage_error(link.place, "the network has racks, and real nodes have one network",
                      "leave `rack` out to run there; or " + std::string(how_to_simulate));
  }
  for (const MemoryId end : {link.a, link.b}) {
    if (machine.memory(end).kind != MemoryKind::network || joins_nodes(machine, end)) continue;
    throw usage_error(
        link.place,
        fmt::format("{}, and {} is a switch, which only a simulation knows", ends,
                    machine.memory(end).name),
        "link the memories with each other instead; or " + std::string(how_to_simulate));
  }
  const bool a_stores = machine.memory(link.a).kind == MemoryKind::storage;
  const bool b_stores = machine.memory(link.b).kind == MemoryKind::storage;
  if (a_stores && b_stores) {
    throw usage_error(link.place,
                      fmt::format("{}, which are both storage: real copies go between a memory "
                                  "and storage only",
                                  ends),
                      "link each of them to a memory of kind ram instead");
  }
  if (joins_gpu && is_network_link(machine, link)) {
    throw usage_error(
        link.place,
        fmt::format("{}: a real network reads and writes memory of the host only", ends),
        "name one in `network_memory`, and link it to that of the GPU");
  }
  if (joins_gpu) {
    throw usage_error(link.place,
                      fmt::format("{}: a GPU copies between its memory and one of the host or of "
                                  "another GPU only",
                                  ends),
                      "link each of them to a memory of kind ram of the host instead: copies take "
                      "both links");
  }
  throw usage_error(link.place, fmt::format("{}, and nothing here can copy between them", ends),
                    std::string(how_to_simulate));
}

std::unique_ptr<MemorySpace> choose_space(Mode mode, const Machine& machine, MemoryId memory) {
  if (mode == Mode::run) return make_cuda_space(machine, memory);
  const bool holds_values = computes_values(mode);
  const bool stores = machine.memory(memory).kind == MemoryKind::storage;
  return holds_values && stores ? make_host_space(std::make_shared<BufferPool>()) : nullptr;
}

}  // namespace troupe
