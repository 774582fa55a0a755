#include "core/base/error.hpp"
#include "core/base/temporary_path.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

namespace troupe {
namespace {

// Rates of a core of a server processor of the last ten years, with AVX2 at about 2.5 GHz: 32 FLOP
// a cycle in single precision less what OpenBLAS leaves, 2 FLOP a cycle and lane in chains of
// dependent operations, and its share of a few memory channels. They order work when nothing was
// measured; a factor of two either way is to be expected.
constexpr double matmul_flops_per_core = 64e9;
constexpr double other_flops_per_core = 8e9;
constexpr double bandwidth_per_core = 8e9;
constexpr double bandwidth_per_device_max = 64e9;
constexpr Duration launch{2'000};

// One thread in memcpy, reading and writing memory; a wake-up before it starts.
constexpr double copy_bandwidth = 6e9;
constexpr Duration copy_latency{10'000};

// A solid-state disk on a shared host, by direct I/O.
constexpr double disk_bandwidth = 1e9;
constexpr Duration disk_latency{100'000};

// Of its peaks, what is left: products of float32 have 0.73 on an H200 and on an H100. The other
// parts are guesses: most other ops wait for the memory. Where nothing is known, the peaks are
// those of a GPU for servers of the last ten years on 16 lanes of PCI Express 4, and a factor of
// four either way is to be expected.
constexpr double of_gpu_flops = 0.73;
constexpr double of_gpu_flops_other = 0.2;
constexpr double of_gpu_bandwidth = 0.87;
constexpr GpuPeaks usual_peaks{.flops = 27e12, .bandwidth = 1.15e12, .link_bandwidth = 24e9};
constexpr Duration gpu_launch{3'000};
constexpr Duration pcie_latency{10'000};

constexpr std::uint64_t mib = 1 << 20;

// Leaves an eighth to others.
std::uint64_t size_for_tensors(std::uint64_t available_bytes) {
  return available_bytes - available_bytes / 8;
}

// At most so many memories are linked in pairs: 496 links.
constexpr std::size_t paired_memories_max = 32;

// The cores of each of `devices` devices; 0 devices: one for each NUMA node that has cores.
std::vector<std::vector<int>> split_cores(const HostInfo& host, int devices) {
  std::vector<std::vector<int>> shares;
  std::vector<int> in_numa_order;
  for (const HostInfo::NumaNode& node : host.numa) {
    if (node.cores.empty()) continue;
    shares.push_back(node.cores);
    in_numa_order.insert(in_numa_order.end(), node.cores.begin(), node.cores.end());
  }
  if (in_numa_order.empty()) in_numa_order = host.cores;
  if (devices <= 0 && !shares.empty()) return shares;

  const auto n = static_cast<std::size_t>(std::max(devices, 1));
  const std::size_t cores = in_numa_order.size();
  shares.assign(n, {});
  for (std::size_t d = 0; d < n; ++d) {
    const std::size_t first = d * cores / n;
    const std::size_t last = (d + 1) * cores / n;
    if (cores >= n) {
      shares[d].assign(std::next(in_numa_order.begin(), static_cast<std::ptrdiff_t>(first)),
                       std::next(in_numa_order.begin(), static_cast<std::ptrdiff_t>(last)));
    } else if (cores > 0) {
      shares[d] = {in_numa_order[d % cores]};
    }
  }
  return shares;
}

// 0 if there is no such directory; a run reports that.
std::uint64_t free_on_disk(const std::string& directory) {
  namespace fs = std::filesystem;
  try {
    const fs::path path = directory.empty() ? temporary_directory() : fs::path(directory);
    const std::uint64_t available = fs::space(path).available;
    return available >= mib ? available / mib * mib : std::max<std::uint64_t>(available, 1);
  } catch (const std::exception&) {
    return 0;
  }
}

// Rates are those of each stream.
Device cpu_device(std::size_t index, std::vector<int> cores, int streams) {
  const std::size_t all = std::max<std::size_t>(cores.size(), 1);
  Device device;
  device.streams =
      streams == LocalMachineOptions::one_per_core
          ? static_cast<int>(std::min<std::size_t>(all, std::size_t{Device::streams_max}))
          : streams;
  const double of_device = 1.0 / device.streams;
  const double n = static_cast<double>(all) * of_device;
  device.name = fmt::format("cpu{}", index);
  device.kind = DeviceKind::cpu;
  device.memory = MemoryId::at(index);
  device.launch = launch;
  device.op_flops["matmul"] = n * matmul_flops_per_core;
  device.flops = n * other_flops_per_core;
  device.bandwidth = std::min(n * bandwidth_per_core, bandwidth_per_device_max * of_device);
  device.cores = std::move(cores);
  return device;
}

Link make_link(std::string name, MemoryId a, MemoryId b, double bandwidth, Duration latency) {
  Link link;
  link.name = std::move(name);
  link.a = a;
  link.b = b;
  link.bandwidth[0] = link.bandwidth[1] = bandwidth;
  link.latency = latency;
  return link;
}

// Joins the memories: each pair, or where those are too many, each with the first
// (docs/decisions/0020-links-of-a-discovered-machine.md).
void join_memories(Machine& machine) {
  const std::size_t memories = machine.memories.size();
  const std::size_t hubs = memories <= paired_memories_max ? memories : 1;
  for (std::size_t i = 0; i < hubs; ++i) {
    for (std::size_t j = i + 1; j < memories; ++j) {
      machine.links.push_back(make_link(fmt::format("copy{}-{}", i, j), MemoryId::at(i),
                                        MemoryId::at(j), copy_bandwidth, copy_latency));
    }
  }
}

GpuPeaks known_or_usual(const GpuPeaks& known) {
  const auto either = [](double a, double b) { return a > 0 ? a : b; };
  return {.flops = either(known.flops, usual_peaks.flops),
          .bandwidth = either(known.bandwidth, usual_peaks.bandwidth),
          .link_bandwidth = either(known.link_bandwidth, usual_peaks.link_bandwidth)};
}

}  // namespace

Machine local_machine(const HostInfo& host, const LocalMachineOptions& options) {
  if (options.cpu_devices < 0 || options.cpu_devices > LocalMachineOptions::cpu_devices_max) {
    throw usage_error(fmt::format("this host's cores can't make {} devices", options.cpu_devices),
                      fmt::format("ask for 1 to {}, or for 0, one for each NUMA node",
                                  LocalMachineOptions::cpu_devices_max));
  }
  if (options.streams < 0 || options.streams > Device::streams_max) {
    throw usage_error(fmt::format("a device of this host can't have {} streams", options.streams),
                      fmt::format("ask for 1 to {}, or for one_per_core", Device::streams_max));
  }
  Machine machine;
  machine.name = "local";
  const std::vector<std::vector<int>> cores = split_cores(host, options.cpu_devices);
  const std::uint64_t usable = size_for_tensors(host.available_memory_bytes);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    machine.devices.push_back(cpu_device(i, cores[i], options.streams));
    Memory& memory = machine.memories.emplace_back();
    memory.name = fmt::format("mem{}", i);
    memory.size_bytes = usable / cores.size() / mib * mib;
  }
  join_memories(machine);
  if (!options.storage) return machine;

  const MemoryId disk = MemoryId::at(machine.memories.size());
  Memory& memory = machine.memories.emplace_back();
  memory.name = "disk";
  memory.kind = MemoryKind::storage;
  memory.directory = options.directory;
  memory.size_bytes = free_on_disk(options.directory);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    machine.links.push_back(
        make_link(fmt::format("disk{}", i), MemoryId::at(i), disk, disk_bandwidth, disk_latency));
  }
  return machine;
}

Error no_usable_gpu(const SourcePlace& place, const UsableGpus& usable) {
  const std::size_t remedy = std::min(usable.problem.find("; "), usable.problem.size());
  return usage_error(
      place, fmt::format("no GPU of this host can be used: {}", usable.problem.substr(0, remedy)),
      remedy < usable.problem.size() ? usable.problem.substr(remedy + 2) : std::string());
}

void add_gpus(Machine& machine, std::span<const UsableGpu> gpus) {
  const auto number = [gpus](std::size_t g) {
    return gpus[g].number >= 0 ? gpus[g].number : static_cast<int>(g);
  };
  std::vector<double> links;  // bytes per second
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const MemoryId vram = MemoryId::at(machine.memories.size());
    Memory& memory = machine.memories.emplace_back();
    memory.name = fmt::format("vram{}", number(g));
    memory.size_bytes =
        std::max(size_for_tensors(gpus[g].available_memory_bytes) / mib, std::uint64_t{1}) * mib;
    Device& device = machine.devices.emplace_back();
    device.name = fmt::format("gpu{}", number(g));
    device.kind = DeviceKind::gpu;
    if (number(g) != static_cast<int>(g)) device.gpu = number(g);
    device.memory = vram;
    device.launch = gpu_launch;
    const GpuPeaks peaks = known_or_usual(gpus[g].peaks);
    device.op_flops["matmul"] = of_gpu_flops * peaks.flops;
    device.flops = of_gpu_flops_other * peaks.flops;
    device.bandwidth = of_gpu_bandwidth * peaks.bandwidth;
    links.push_back(peaks.link_bandwidth);
    machine.links.push_back(
        make_link(fmt::format("pcie{}", number(g)), MemoryId{0}, vram, links[g], pcie_latency));
  }
  const std::size_t first = machine.memories.size() - gpus.size();
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    for (const std::size_t peer : gpus[g].peers) {
      machine.links.push_back(make_link(fmt::format("peer{}-{}", number(peer), number(g)),
                                        MemoryId::at(first + peer), MemoryId::at(first + g),
                                        std::min(links[peer], links[g]), pcie_latency));
    }
  }
}

}  // namespace troupe
