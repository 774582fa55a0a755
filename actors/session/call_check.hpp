// What of a session's calls is known to fail before they are planned.
#pragma once

#include "actors/run_setting.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/plan/plan_options.hpp"

#include <span>

namespace troupe {

// Thread-safe.
class CallCheck {
 public:
  // The objects referred to must outlive it.
  CallCheck(const Machine& machine, const OpRegistry& ops, const RunSetting& setting)
      : machine_(machine), ops_(ops), options_(plan_options(setting, machine)) {}

  // Throws a usage Error without a place if no device that such an op may be placed on has a kernel
  // for it, or none has a memory that could hold what it makes, if that were all in it.
  void check(const OpTemplate& op, std::span<const TensorType> made) const;

 private:
  bool has_kernel(DeviceId device, const OpKind& kind) const;
  void check_kernel(const OpTemplate& op) const;
  void check_bytes(const OpTemplate& op, std::span<const TensorType> made) const;

  const Machine& machine_;
  const OpRegistry& ops_;
  const PlanOptions options_;
};

}  // namespace troupe
