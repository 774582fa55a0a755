#include "actors/warm_up.hpp"

#include "core/backend/backend.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// Of one op, and of all of a share together. By the cost model, whose rates are rough for a machine
// that was discovered.
constexpr std::chrono::milliseconds longest{500};
constexpr std::chrono::seconds longest_of_all{1};

KernelSample sample_of(const RunContext& context, const Share& share, std::uint32_t item) {
  const Share::Kernel& kernel = share.kernels[share.items[item].work];
  KernelSample sample{.kind = context.ops[kernel.kind].name, .attrs = *kernel.attrs};
  for (const ReplicaId input : share.inputs_of(item)) {
    sample.inputs.push_back(context.store.type(input));
  }
  for (std::uint32_t k = 0; k <= kernel.further; ++k) {
    sample.outputs.push_back(context.store.type(ReplicaId{share.output(item).value + k}));
  }
  return sample;
}

bool has_given_values(const Attrs& attrs) {
  const auto& entries = attrs.entries();
  return std::any_of(entries.begin(), entries.end(), [](const Attrs::Entry& entry) {
    return std::holds_alternative<std::shared_ptr<const ValueSource>>(entry.value);
  });
}

}  // namespace

Share kernel_samples(const Share& share) {
  Share samples;
  samples.window = share.window;
  samples.kernels = share.kernels;
  std::vector<bool> has_sample(share.kernels.size());
  for (std::size_t k = 0; k < samples.kernels.size(); ++k) {
    Share::Kernel& kernel = samples.kernels[k];
    has_sample[k] = kernel.attrs == nullptr || has_given_values(*kernel.attrs);
    if (!has_sample[k]) continue;
    kernel.attrs = nullptr;
    kernel.adopts = false;
  }
  for (std::uint32_t item = 0; item < share.size(); ++item) {
    const std::uint32_t k = share.items[item].work;
    if (has_sample[k]) continue;
    has_sample[k] = true;
    for (const ReplicaId input : share.inputs_of(item)) samples.inputs.push_back(input);
    Share::Item& sample = samples.add_item();
    sample.unit = share.items[item].unit;
    sample.work = k;
  }
  return samples;
}

void load_kernels(const OpRegistry& ops, const Share& share) {
  for (const Share::Kernel& kernel : share.kernels) {
    const OpKind& kind = ops[kernel.kind];
    if (kind.load == nullptr) continue;
    const auto failure = [&](const char* why) {
      return run_error(fmt::format("'{}' can't load what it needs: {}", kind.name, why));
    };
    try {
      kind.load();
    } catch (const std::exception& error) {
      throw failure(error.what());
    } catch (...) {
      throw failure("it threw something that is no std::exception");
    }
  }
}

void warm_up_kernels(const RunContext& context, ResourceId resource, const Share& share) {
  if (resource.index() >= context.machine.devices.size()) return;
  const DeviceId device{resource.value};
  const DeviceBackendEntry* const backend = context.setting.device_backends[device.index()];
  if (backend->warm_up == nullptr) return;
  const Device& rated = context.machine.devices[device.index()];
  const bool has_rates = rated.flops || rated.bandwidth || !rated.op_flops.empty();
  const Share ops = kernel_samples(share);
  std::vector<KernelSample> samples;
  Duration together{0};
  for (std::uint32_t item = 0; item < ops.size(); ++item) {
    const Share::Kernel& kernel = ops.kernels[ops.items[item].work];
    // Without rates, the cost model takes the device for a slow core.
    const Duration expected = has_rates ? kernel.expected : kernel.expected / 1000;
    const bool is_short = expected <= longest && together + expected <= longest_of_all;
    if (kernel.is_further || !is_short) continue;
    together += expected;
    samples.push_back(sample_of(context, ops, item));
  }
  if (!samples.empty()) backend->warm_up(context.machine, device, samples);
}

}  // namespace troupe
