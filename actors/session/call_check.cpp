#include "actors/session/call_check.hpp"

#include "core/base/error.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

void CallCheck::check(const OpTemplate& op, std::span<const TensorType> made) const {
  check_kernel(op);
  check_bytes(op, made);
}

bool CallCheck::has_kernel(DeviceId device, const OpKind& kind) const {
  return !options_.has_kernel || options_.has_kernel(device, kind);
}

void CallCheck::check_kernel(const OpTemplate& op) const {
  const OpKind& kind = ops_[op.kind];
  const DeviceId device = op.placement.device;
  if (kind.moves_data || kind.is_given || (device && has_kernel(device, kind))) return;
  std::vector<std::string> able;
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    if (has_kernel(DeviceId::at(d), kind)) able.push_back(machine_.devices[d].name);
  }
  if (able.empty()) {
    throw usage_error(fmt::format("no device has a kernel for '{}'", kind.name), "use another op");
  }
  if (!device) return;
  throw usage_error(
      fmt::format("'{}' is placed on {}, which has no kernel for it", kind.name,
                  machine_.device(device).name),
      fmt::format("call it outside of the scope, or on another device: {}", fmt::join(able, ", ")));
}

void CallCheck::check_bytes(const OpTemplate& op, std::span<const TensorType> made) const {
  const OpKind& kind = ops_[op.kind];
  if (kind.existing != nullptr) return;  // it may need no buffer
  std::uint64_t bytes = 0;
  for (const TensorType& type : made) bytes = add_sat(bytes, type.bytes());
  MemoryId largest;
  const auto fits = [&](MemoryId memory) {
    const std::uint64_t size = machine_.memory(memory).size_bytes;
    if (!largest || machine_.memory(largest).size_bytes < size) largest = memory;
    return size == 0 || bytes <= size;  // 0: not known
  };
  if (op.placement.memory) {
    if (fits(op.placement.memory)) return;
  } else if (op.placement.device) {
    if (fits(machine_.device(op.placement.device).memory)) return;
  } else {
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      if (has_kernel(DeviceId::at(d), kind) && fits(machine_.devices[d].memory)) return;
    }
  }
  const Memory& memory = machine_.memory(largest);
  const std::string what = to_string(made.front());
  throw usage_error(
      fmt::format("{} takes {}, and memory '{}' has {}{}",
                  kind.is_given ? what : fmt::format("'{}' makes {}, which", kind.name, what),
                  format_bytes(bytes), memory.name,
                  memory.size_bytes == 1 ? "no room"  // the least that there can be
                                         : format_bytes(memory.size_bytes),
                  memory.size_reason.empty() ? "" : fmt::format(" ({})", memory.size_reason)),
      "make smaller tensors, or place it where there is more memory");
}

}  // namespace troupe
