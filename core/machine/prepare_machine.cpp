#include "core/machine/prepare_machine.hpp"

#include "core/base/suggest.hpp"
#include "core/base/temporary_path.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

std::vector<std::string_view> names(const Machine& machine, bool cpus_only) {
  std::vector<std::string_view> result;
  for (const Device& d : machine.devices) {
    if (!cpus_only || d.kind == DeviceKind::cpu) result.push_back(d.name);
  }
  return result;
}

// Says of each GPU that has no number yet which one it is, as a run would: in their order on their
// node.
void number_gpus(Machine& machine) {
  std::map<NodeId, int> next;
  for (Device& device : machine.devices) {
    if (device.kind == DeviceKind::gpu && device.gpu < 0) device.gpu = next[device.node]++;
  }
}

}  // namespace

void map_device(Machine& machine, std::string_view mapping, const HostInfo* host) {
  const std::size_t equals = mapping.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == mapping.size()) {
    throw usage_error(fmt::format("--map takes DEVICE=CPU, and '{}' is not that", mapping),
                      "write for example --map gpu0=cpu0");
  }
  const std::string_view from = mapping.substr(0, equals);
  const std::string_view to = mapping.substr(equals + 1);
  const DeviceId device = machine.find_device(from);
  if (!device) {
    throw usage_error(
        fmt::format("--map names the device '{}', which the machine doesn't have", from),
        suggestion(from, names(machine, false)));
  }
  // `troupe machine` names one CPU device for each NUMA node: cpu0, cpu1, …
  const bool is_local = !machine.find_device(to) && host != nullptr;
  const Machine owner = is_local ? local_machine(*host, {}) : machine;
  const DeviceId cpu = owner.find_device(to);
  if (!cpu || owner.device(cpu).kind != DeviceKind::cpu) {
    std::vector<std::string_view> cpus = names(machine, true);
    if (is_local) {
      for (const std::string_view name : names(owner, true)) {
        if (!machine.find_device(name)) cpus.push_back(name);
      }
    }
    throw usage_error(
        fmt::format("--map lets '{}' stand in for {}, and that is no CPU device", to, from),
        cpus.empty() ? "add it to the machine, with its rates" : suggestion(to, cpus));
  }
  const Device& stand_in = owner.device(cpu);
  Device& mapped = machine.devices[device.index()];
  if (mapped.kind == DeviceKind::gpu) number_gpus(machine);  // the others stay what they are
  mapped.kind = DeviceKind::cpu;
  mapped.launch = stand_in.launch;
  // Rates are those of a stream.
  const double share = static_cast<double>(stand_in.streams) / mapped.streams;
  mapped.op_flops = stand_in.op_flops;
  for (auto& [kind, flops] : mapped.op_flops) flops *= share;
  mapped.flops = stand_in.flops;
  if (mapped.flops) *mapped.flops *= share;
  mapped.bandwidth = stand_in.bandwidth;
  if (mapped.bandwidth) *mapped.bandwidth *= share;
}

void assign_cores(Machine& machine, const HostInfo& host) {
  std::vector<int> free = host.cores;
  std::vector<Device*> without;
  for (Device& device : machine.devices) {
    if (device.kind != DeviceKind::cpu) continue;
    if (device.cores.empty()) without.push_back(&device);
    for (const int core : device.cores) {
      if (std::find(host.cores.begin(), host.cores.end(), core) == host.cores.end()) {
        throw usage_error(
            device.place,
            fmt::format("{} is to own core {}, which this process can't use", device.name, core),
            fmt::format("choose from {}", fmt::join(host.cores, ", ")));
      }
      std::erase(free, core);
    }
  }
  if (without.empty()) return;
  if (free.empty()) free = host.cores;
  const std::size_t n = without.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (free.size() < n) {
      without[i]->cores = {free[i % free.size()]};
      continue;
    }
    const auto at = [&](std::size_t k) {
      return free.begin() + static_cast<std::ptrdiff_t>(free.size() * k / n);
    };
    without[i]->cores.assign(at(i), at(i + 1));
  }
}

std::int64_t widest_team(const Machine& machine) {
  std::int64_t widest = 1;
  for (const Device& device : machine.devices) {
    if (device.kind != DeviceKind::cpu) continue;
    const std::int64_t cores = device.cores.empty()
                                   ? sysconf(_SC_NPROCESSORS_ONLN)
                                   : static_cast<std::int64_t>(device.cores.size());
    widest = std::max(widest, (cores + device.streams - 1) / device.streams);
  }
  return widest;
}

void measure_storage(Machine& machine) {
  namespace fs = std::filesystem;
  for (Memory& memory : machine.memories) {
    if (memory.kind != MemoryKind::storage || memory.size_bytes > 0) continue;
    try {
      const fs::path directory =
          memory.directory.empty() ? temporary_directory() : fs::path(memory.directory);
      std::error_code error;
      const fs::space_info space = fs::space(directory, error);
      if (error) {
        throw usage_error(
            fmt::format("directory '{}' can't be used: {}", directory.string(), error.message()),
            "name a directory that exists");
      }
      memory.size_bytes = std::max<std::uint64_t>(space.available, 1);  // 0: not known
    } catch (const Error& error) {
      throw usage_error(memory.place, fmt::format("memory '{}': {}", memory.name, error.problem()),
                        error.remedy());
    }
  }
}

}  // namespace troupe
