#include "actors/run_setting.hpp"

#include "core/backend/cuda/cuda_backend.hpp"
#include "core/backend/registry.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/prepare_machine.hpp"
#include "core/memory/buffer_pool.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

// How a resource issues its work.
struct IssueRule {
  std::string_view order;
  std::uint32_t depth = 0;
};

template <class Entry, class IdType>
IssueRule rule_of(const Entry& entry, const Machine& machine, IdType id) {
  if (entry.issue_depth == nullptr) return {};
  return {.order = entry.order, .depth = entry.issue_depth(machine, id)};
}

IssueRule rule_of(const RunSetting& setting, const Machine& machine, ResourceId resource) {
  const std::size_t devices = machine.devices.size();
  const std::size_t r = resource.index();
  return r < devices
             ? rule_of(*setting.device_backends[r], machine, DeviceId::at(r))
             : rule_of(*setting.link_backends[r - devices], machine, LinkId::at(r - devices));
}

}  // namespace

RunSetting make_run_setting(Mode mode, const Machine& machine, bool verify, Nodes nodes,
                            NodeId self) {
  check_machine(machine);
  const std::size_t wanted = machine.nodes.size();
  if (!has_virtual_time(mode) && nodes == Nodes::this_one && wanted > 1) {
    throw usage_error(
        fmt::format("'{}' has {} nodes, and no nodes are given", machine.name, wanted),
        fmt::format("add {}--nodes HOST:PORT,…; or {}",
                    wanted > local_nodes_max ? "" : fmt::format("--local-nodes {} or ", wanted),
                    how_to_simulate));
  }
  const bool has_values = computes_values(mode);
  RunSetting setting{
      .name = has_virtual_time(mode) ? "simulate" : "run",
      .name_past = has_virtual_time(mode) ? "simulated" : "ran",
      .has_virtual_time = has_virtual_time(mode),
      .backing = has_values ? MemoryStore::Backing::buffers : MemoryStore::Backing::accounted,
      .compares_results = verify && has_values,
      .cost = default_cost_model(machine),
      .device_backends = {},
      .link_backends = {},
      .make_space = [mode](const Machine& m, MemoryId id) { return choose_space(mode, m, id); }};
  const auto locality = [&](NodeId node) {
    return nodes == Nodes::this_one || node == self ? Locality::here : Locality::elsewhere;
  };
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const DeviceBackendEntry& entry =
        choose_backend(mode, machine, DeviceId::at(d), locality(machine.devices[d].node));
    setting.device_backends.push_back(&entry);
    setting.uses_tf32 = setting.uses_tf32 || (!entry.is_exact && machine.devices[d].tf32);
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    const LinkId link = LinkId::at(l);
    const bool is_real = nodes == Nodes::several && is_network_link(machine, machine.link(link));
    setting.link_backends.push_back(&choose_backend(is_real ? Mode::run : mode, machine, link,
                                                    locality(machine.links[l].node)));
  }
  setting.widest_team = widest_team(machine);
  return setting;
}

void complete_machine(Mode mode, Machine& machine) {
  if (has_virtual_time(mode)) return;
  if (machine.nodes.size() > 1) return;  // without its nodes it is refused
  assign_cores(machine, discover_host());
  measure_storage(machine);
  limit_gpu_memories(machine, demand_gpus_of_devices(machine));
}

std::optional<Machine> completed_machine(Mode mode, const Machine& machine) {
  if (has_virtual_time(mode)) return std::nullopt;
  check_machine(machine);
  std::optional<Machine> completed = machine;
  complete_machine(mode, *completed);
  return completed;
}

Comparison RunSetting::comparison() const {
  const bool is_exact =
      std::all_of(device_backends.begin(), device_backends.end(),
                  [](const DeviceBackendEntry* entry) { return entry->is_exact; });
  if (is_exact) return Comparison::bits;
  return uses_tf32 ? Comparison::nearness_tf32 : Comparison::nearness;
}

IssueAhead issue_ahead(const RunSetting& setting, const Machine& machine, ResourceId resource) {
  const IssueRule own = rule_of(setting, machine, resource);
  if (own.depth == 0) return {};
  IssueAhead ahead{.depth = own.depth, .can_wait = {}};
  if (own.order.empty()) return ahead;
  for (std::size_t r = 0; r < machine.devices.size() + machine.links.size(); ++r) {
    const IssueRule other = rule_of(setting, machine, ResourceId::at(r));
    ahead.can_wait.push_back(other.depth > 0 && other.order == own.order);
  }
  return ahead;
}

PlanOptions plan_options(const RunSetting& setting, const Machine& machine,
                         std::optional<std::uint64_t> ram_bytes) {
  PlanOptions options{.cost = setting.cost,
                      .needs_costs = setting.has_virtual_time,
                      .compare_results = setting.compares_results,
                      .compare_digests = setting.comparison() == Comparison::bits,
                      .has_storage_in_ram = setting.has_virtual_time && setting.has_values()};
  if (!setting.has_values() && !has_any_gpu(machine)) return options;  // a device has every kernel
  options.has_kernel = [&machine, backends = setting.device_backends](DeviceId device,
                                                                      const OpKind& kind) {
    const bool is_gpu = machine.device(device).kind == DeviceKind::gpu;
    if (is_gpu && kind.reads_host) return false;
    return backends[device.index()]->has_kernel(machine, device, kind);
  };
  if (!setting.has_values()) return options;
  options.ram_bytes = ram_bytes ? *ram_bytes : BufferPool::usable_host_bytes();
  return options;
}

}  // namespace troupe
