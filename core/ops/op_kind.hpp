// An op kind: its parameters, shape rule, cost formula and kernels. Each kind has a file in this
// folder. To add a kind, copy such a file and list the new kind in registry.cpp.
#pragma once

#include "core/base/time.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

// The value of a parameter of an op, e.g. `alpha` of scale.
using Attr = std::variant<bool, std::int64_t, double, Duration>;

// A parameter of an op kind. A value must have the type of `fallback`.
struct AttrSpec {
  std::string_view name;
  Attr fallback;
  bool required = false;
  std::int64_t value_max = std::int64_t{1} << 40;  // upper limit of integers; the lower limit is 0
};

// Attribute values in the order of OpKind::attrs.
using Attrs = std::vector<Attr>;

// What shape rules and cost formulas may depend on.
struct OpSignature {
  std::span<const TensorType> inputs;
  const Attrs& attrs;
  TensorType declared;  // `shape` and `dtype` as given, for kinds with declares_type
};

// The work of one op, for the cost model.
struct Work {
  double flops = 0;
  double bytes = 0;   // read plus written
  Duration fixed{0};  // the same on every device (sleep)
};

// The threads of a CPU device. `run(n, f)` calls each of f(0) … f(n-1) once, on any of the threads.
// Blocks until all calls have returned. Results must not depend on which thread makes which call.
class Team {
 public:
  virtual ~Team() = default;
  virtual std::size_t size() const = 0;
  virtual void run(std::size_t n, const std::function<void(std::size_t)>& f) = 0;
};

struct ConstTensorView {
  const TensorType& type;
  const std::byte* data = nullptr;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};
struct TensorView {
  const TensorType& type;
  std::byte* data = nullptr;
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

struct CpuCall {
  std::span<const ConstTensorView> inputs;
  TensorView output;  // aligned to a cache line, uninitialised
  const Attrs& attrs;
  Team& team;
  std::uint32_t index = 0;  // of the op in its group
};

// Computes one op. Called on the device's thread; blocks until the output is written. Results must
// not depend on team.size(): a run is compared bit for bit with a serial execution. Throws a run
// Error if the op fails.
using CpuKernel = void (*)(const CpuCall&);

struct OpKind {
  std::string_view name;
  std::string_view summary;  // one line, for listings
  std::size_t inputs_min = 0;
  std::size_t inputs_max = 0;
  std::vector<AttrSpec> attrs = {};
  bool declares_type = false;  // the user gives `shape` and `dtype`
  bool moves_data = false;     // links carry it out, not a kernel (copy)
  bool fixed_time = false;     // takes the same time on every device (sleep): needs no rate

  // Returns the output's type. Throws a usage Error without a place if the inputs don't fit.
  TensorType (*type)(const OpSignature&) = nullptr;
  Work (*work)(const OpSignature&, const TensorType& output) = nullptr;
  CpuKernel cpu = nullptr;  // null: CPU devices can't run ops of this kind
  // Loads libraries that the kernel needs, before a run is timed. May be called more than once.
  void (*load)() = nullptr;
};

}  // namespace troupe
