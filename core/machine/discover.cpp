#include "core/machine/discover.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/machine/host_memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

namespace troupe {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t t) const { hwloc_topology_destroy(t); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t b) const { hwloc_bitmap_free(b); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw run_error("hwloc can't be started");
  Topology topology(raw);
  // Plugins that aren't needed: hwloc reads the PCI bus from /sys without them. That of
  // libpciaccess leaks, which LeakSanitizer reports.
  for (const char* plugin : {"pci", "opencl", "gl"}) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) {
    throw run_error("hwloc can't read this machine's topology",
                    "are /proc and /sys mounted? 'lstopo' may say more");
  }
  return topology;
}

// What the cgroup's cpuset and the process's affinity (taskset, a batch system) both allow. The
// process's is taken to be its main thread's: others may have been pinned since, by us or a
// library.
Bitmap usable_units(hwloc_topology_t topology) {
  Bitmap usable(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology)));
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_proc_cpubind(topology, getpid(), bound.get(), HWLOC_CPUBIND_THREAD) == 0 &&
      hwloc_bitmap_intersects(usable.get(), bound.get())) {
    hwloc_bitmap_and(usable.get(), usable.get(), bound.get());
  }
  return usable;
}

// The first usable processing unit of each core: two hyperthreads share what a matmul needs.
std::vector<int> usable_cores(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  const hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  const Bitmap units(hwloc_bitmap_alloc());
  std::vector<int> cores;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr) {
    hwloc_bitmap_and(units.get(), core->cpuset, usable);
    const int first = hwloc_bitmap_first(units.get());
    if (first >= 0) cores.push_back(first);
  }
  return cores;
}

std::vector<CacheInfo> find_caches(hwloc_topology_t topology, hwloc_const_bitmap_t usable) {
  std::vector<CacheInfo> caches;
  for (const hwloc_obj_type_t type :
       {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr) {
      if (!hwloc_bitmap_intersects(cache->cpuset, usable)) continue;
      const int level = static_cast<int>(cache->attr->cache.depth);
      const std::uint64_t size = cache->attr->cache.size;
      const auto same = std::find_if(caches.begin(), caches.end(), [&](const CacheInfo& c) {
        return c.level == level && c.size_bytes == size;
      });
      if (same == caches.end()) {
        caches.push_back({.level = level, .size_bytes = size, .count = 1});
      } else {
        ++same->count;
      }
    }
  }
  return caches;
}

std::vector<HostInfo::NumaNode> find_numa(hwloc_topology_t topology, const HostInfo& host) {
  std::vector<HostInfo::NumaNode> nodes;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    HostInfo::NumaNode& found = nodes.emplace_back();
    found.memory_bytes = node->attr->numanode.local_memory;
    for (const int core : host.cores) {
      if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(core)))
        found.cores.push_back(core);
    }
  }
  if (nodes.empty()) nodes.push_back({.memory_bytes = host.memory_bytes, .cores = host.cores});
  return nodes;
}

// The model of a GPU, from a file of NVIDIA's driver: hwloc knows it only if built with NVML.
std::string driver_model(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  std::ifstream in(fmt::format("/proc/driver/nvidia/gpus/{:04x}:{:02x}:{:02x}.{:x}/information",
                               unsigned{pci.domain}, unsigned{pci.bus}, unsigned{pci.dev},
                               unsigned{pci.func}));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Model:")) return std::string(trimmed(line.substr(6)));
  }
  return {};
}

std::vector<std::string> find_gpus(hwloc_topology_t topology) {
  constexpr unsigned nvidia = 0x10de;
  constexpr unsigned display_class = 0x03;
  std::vector<std::string> gpus;
  std::vector<hwloc_obj_t> seen;
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
    const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci = device->attr->pcidev;
    if (pci.vendor_id != nvidia || pci.class_id >> 8 != display_class) continue;
    seen.push_back(device);
    std::string model = driver_model(pci);
    if (model.empty()) model = fmt::format("NVIDIA GPU {:04x}", pci.device_id);
    gpus.push_back(std::move(model));
  }
  // Where the PCI bus can't be read, the CUDA runtime may still know its devices.
  device = nullptr;
  while ((device = hwloc_get_next_osdev(topology, device)) != nullptr) {
    const auto type = device->attr->osdev.type;
    if (type != HWLOC_OBJ_OSDEV_COPROC && type != HWLOC_OBJ_OSDEV_GPU) continue;
    if (device->subtype == nullptr || std::string_view(device->subtype) != "CUDA") continue;
    if (std::find(seen.begin(), seen.end(), device->parent) != seen.end()) continue;
    const char* model = hwloc_obj_get_info_by_name(device, "GPUModel");
    gpus.emplace_back(model ? model : device->name);
  }
  return gpus;
}

std::string find_cpu_model(hwloc_topology_t topology) {
  for (hwloc_obj_t object :
       {hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(topology)}) {
    if (object == nullptr) continue;
    const char* model = hwloc_obj_get_info_by_name(object, "CPUModel");
    if (model) return std::string(trimmed(model));
  }
  return "unknown processor";
}

HostInfo look_around() {
  const Topology topology = load_topology();
  const Bitmap usable = usable_units(topology.get());
  HostInfo host;
  host.memory_bytes = host_memory().total_bytes;  // for a machine without NUMA nodes
  host.cpu_model = find_cpu_model(topology.get());
  host.cores = usable_cores(topology.get(), usable.get());
  if (host.cores.empty()) throw run_error("hwloc finds no processor that this process may use");
  host.caches = find_caches(topology.get(), usable.get());
  host.numa = find_numa(topology.get(), host);
  host.gpus = find_gpus(topology.get());
  return host;
}

// What the main thread may use; empty if that can't be read, as beyond 1024 processors.
cpu_set_t affinity() {
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

// Looking around takes 10 ms, and a run asks twice. Only affinity and memory change.
HostInfo discover_host() {
  static std::mutex mutex;
  static std::optional<HostInfo> known;
  static cpu_set_t known_for;
  const std::lock_guard lock(mutex);
  const cpu_set_t now = affinity();
  if (!known || CPU_COUNT(&now) == 0 || !CPU_EQUAL(&now, &known_for)) {
    known = look_around();
    known_for = now;
  }
  HostInfo host = *known;
  const HostMemory memory = host_memory();
  host.memory_bytes = memory.total_bytes;
  host.available_memory_bytes = memory.available_bytes;
  return host;
}

}  // namespace troupe
