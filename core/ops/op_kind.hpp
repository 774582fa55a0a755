// What there is to know about a kind of op: its parameters, shape rule, cost formula and kernels.
// One file in this folder per kind; copy one to add one, and list it in registry.cpp.
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

// A value given to an op besides its inputs, e.g. `alpha` of scale.
using Attr = std::variant<bool, std::int64_t, double, Duration>;

// A parameter that a kind of op takes. The type of `fallback` is the type it must have.
struct AttrSpec {
  std::string_view name;
  Attr fallback;
  bool required = false;
  std::int64_t value_max = std::int64_t{1} << 40;  // upper limit for integers; the lower one is 0
};

// Attribute values in the order of OpKind::attrs.
using Attrs = std::vector<Attr>;

// What a shape rule and a cost formula may look at.
struct OpSignature {
  std::span<const TensorType> inputs;
  const Attrs& attrs;
  TensorType declared;  // `shape` and `dtype` as given, for kinds with declares_type
};

// The work one op does, for the cost model. No unit is hidden: FLOPs, bytes read plus written.
struct Work {
  double flops = 0;
  double bytes = 0;
  Duration fixed{0};  // time that no device makes shorter (sleep)
};

// The threads that a CPU device owns. `run(n, f)` calls f(0) … f(n-1), each once, on any of them,
// and returns when all are done. Which thread takes which index must not change a result.
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

// Runs on the device's thread and blocks it. Results must not depend on team.size(): a run is
// compared bit for bit with a serial one. Throws a run Error to fail.
using CpuKernel = void (*)(const CpuCall&);

struct OpKind {
  std::string_view name;
  std::string_view summary;  // one line, for listings
  std::size_t inputs_min = 0;
  std::size_t inputs_max = 0;
  std::vector<AttrSpec> attrs = {};
  bool declares_type = false;  // takes `shape` and `dtype`
  bool moves_data = false;     // done by links, not by a kernel (copy)
  bool fixed_time = false;     // takes the same time on every device (sleep): needs no rate

  // The output's type; throws a usage Error (without a place) where the inputs don't fit.
  TensorType (*type)(const OpSignature&) = nullptr;
  Work (*work)(const OpSignature&, const TensorType& output) = nullptr;
  CpuKernel cpu = nullptr;  // none: CPU devices can't run it
  // Loads what the kernel needs, so that this falls into no timing; may be called again.
  void (*load)() = nullptr;
};

}  // namespace troupe
