#include "actors/run_setting.hpp"

#include "core/backend/registry.hpp"
#include "core/cost/roofline.hpp"

namespace troupe {

RunSetting make_run_setting(Mode mode, const Machine& machine, bool verify) {
  const bool has_values = computes_values(mode);
  RunSetting setting{
      .name = mode == Mode::run ? "run" : "simulate",
      .has_virtual_time = has_virtual_time(mode),
      .backing = has_values ? MemoryStore::Backing::buffers : MemoryStore::Backing::accounted,
      .compares_results = verify && has_values,
      .cost = std::make_shared<const Roofline>(machine),
      .device_backends = {},
      .link_backends = {}};
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    setting.device_backends.push_back(&choose_backend(mode, machine, DeviceId::at(d)));
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    setting.link_backends.push_back(&choose_backend(mode, machine, LinkId::at(l)));
  }
  return setting;
}

PlanOptions plan_options(const RunSetting& setting, const Machine& machine,
                         std::optional<std::uint64_t> ram_bytes) {
  PlanOptions options{.cost = setting.cost,
                      .needs_costs = setting.has_virtual_time,
                      .compare_results = setting.compares_results};
  if (!setting.has_values()) return options;
  options.has_kernel = [&machine, backends = setting.device_backends](DeviceId device,
                                                                      const OpKind& kind) {
    return backends[device.index()]->has_kernel(machine, device, kind);
  };
  options.ram_bytes = ram_bytes;
  return options;
}

}  // namespace troupe
