// The machine that this process runs on, as a machine file.
#include "core/base/units.hpp"
#include "core/machine/discover.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace troupe {
namespace {

// A size that reads back as the same number of bytes, which format_bytes may round.
std::string exact_size(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1 << 20;
  constexpr std::uint64_t gib = 1 << 30;
  if (bytes % gib == 0) return fmt::format("{} GiB", bytes / gib);
  return bytes % mib == 0 ? fmt::format("{} MiB", bytes / mib) : fmt::format("{} B", bytes);
}

std::string devices_yaml(const Machine& machine) {
  std::string out = "devices:\n";
  for (const Device& d : machine.devices) {
    const std::string cores =
        d.cores.empty() ? "" : fmt::format("cores: [{}], ", fmt::join(d.cores, ", "));
    const std::string number = d.gpu >= 0 ? fmt::format("gpu: {}, ", d.gpu) : "";
    out += fmt::format(
        "  {}: {{kind: {}, {}{}memory: {}, matmul: {}, flops: {}, bandwidth: {}, launch: {}}}\n",
        d.name, to_string(d.kind), number, cores, machine.memory(d.memory).name,
        format_flops(d.op_flops.at("matmul")), format_flops(*d.flops),
        format_bandwidth(*d.bandwidth), format_duration(d.launch));
  }
  return out;
}

std::string memories_yaml(const Machine& machine) {
  std::string out = "memories:\n";
  for (const Memory& m : machine.memories) {
    const bool storage = m.kind == MemoryKind::storage;
    // Not known where there is no temporary directory: a run says so if it needs one.
    const std::string size =
        storage && m.size_bytes == 0 ? "" : fmt::format("size: {}", exact_size(m.size_bytes));
    const char* const kind = !storage ? "" : size.empty() ? "kind: storage" : "kind: storage, ";
    out += fmt::format("  {}: {{{}{}}}\n", m.name, kind, size);
  }
  return out;
}

std::string links_yaml(const Machine& machine) {
  std::string out = "links:\n";
  for (const Link& l : machine.links) {
    out += fmt::format("  {}: {{between: [{}, {}], bandwidth: {}, latency: {}}}\n", l.name,
                       machine.memory(l.a).name, machine.memory(l.b).name,
                       format_bandwidth(l.bandwidth[0]), format_duration(l.latency));
  }
  return out;
}

// Comments: the GPUs that a real run can use; else those that the host has, and why none of them
// can be used.
std::string list_gpus(const HostInfo& host, const UsableGpus& usable) {
  std::string out;
  for (std::size_t g = 0; g < usable.gpus.size(); ++g) {
    const UsableGpu& gpu = usable.gpus[g];
    const int number = gpu.number >= 0 ? gpu.number : static_cast<int>(g);
    out += fmt::format("# GPU {}: {}, {} of memory, {} available now\n", number, gpu.model,
                       format_bytes(gpu.memory_bytes), format_bytes(gpu.available_memory_bytes));
  }
  for (const std::string& gpu : usable.left_out) {
    out += fmt::format("# runs don't use {}\n", gpu);
  }
  if (!usable.gpus.empty() || !usable.left_out.empty()) return out;
  for (const std::string& gpu : host.gpus) out += fmt::format("# GPU: {}\n", gpu);
  if (host.gpus.empty()) out += "# no GPU found\n";
  if (!usable.problem.empty()) out += fmt::format("# runs have no GPU: {}\n", usable.problem);
  return out;
}

}  // namespace

std::string describe_yaml(const HostInfo& host, const UsableGpus& usable) {
  std::string out =
      fmt::format("# {}\n# {}: {}\n", host.cpu_model, format_count(host.cores.size(), "core"),
                  fmt::join(host.cores, ", "));
  for (const CacheInfo& c : host.caches) {
    out += fmt::format("# {} × {} of L{} cache\n", c.count, format_bytes(c.size_bytes), c.level);
  }
  out += fmt::format("# {} of memory, {} available now\n", format_bytes(host.memory_bytes),
                     format_bytes(host.available_memory_bytes));
  for (std::size_t i = 0; i < host.numa.size(); ++i) {
    const HostInfo::NumaNode& node = host.numa[i];
    out +=
        fmt::format("# NUMA node {}: {}, cores {}\n", i, format_bytes(node.memory_bytes),
                    node.cores.empty() ? "none" : fmt::format("{}", fmt::join(node.cores, ", ")));
  }
  out += list_gpus(host, usable);
  out += "# Rates are estimates from the number of cores, not measurements.\n";
  if (!usable.gpus.empty()) {
    out += "# Those of GPUs are from what their driver and the kernel say of clocks and lanes.\n";
  }

  Machine machine = local_machine(host, {.cpu_devices = 0, .storage = true});
  add_gpus(machine, usable.gpus);
  out += fmt::format("\nmachine: {}\n", machine.name);
  out += devices_yaml(machine) + memories_yaml(machine) + links_yaml(machine);
  return out;
}

}  // namespace troupe
