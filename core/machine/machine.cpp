#include "core/machine/machine.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

template <class IdType, class Row>
IdType find_by_name(const std::vector<Row>& rows, std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) return IdType::at(i);
  }
  return IdType::none();
}

}  // namespace

std::string_view to_string(DeviceKind k) {
  return k == DeviceKind::cpu ? "cpu" : "gpu";
}

DeviceId Machine::find_device(std::string_view wanted) const {
  return find_by_name<DeviceId>(devices, wanted);
}
MemoryId Machine::find_memory(std::string_view wanted) const {
  return find_by_name<MemoryId>(memories, wanted);
}
LinkId Machine::find_link(std::string_view wanted) const {
  return find_by_name<LinkId>(links, wanted);
}

const Device* owning_gpu(const Machine& machine, MemoryId memory) {
  const Device* owner = nullptr;
  for (const Device& device : machine.devices) {
    if (device.memory != memory) continue;
    if (device.kind == DeviceKind::cpu) return nullptr;
    owner = &device;
  }
  return owner;
}

bool is_host_ram(const Machine& machine, MemoryId memory) {
  return machine.memory(memory).kind == MemoryKind::ram && owning_gpu(machine, memory) == nullptr;
}

std::string direction_name(const Machine& machine, LinkId link, Direction direction) {
  const Link& l = machine.link(link);
  return fmt::format("{} {}→{}", l.name, machine.memory(l.source(direction)).name,
                     machine.memory(l.target(direction)).name);
}

}  // namespace troupe
