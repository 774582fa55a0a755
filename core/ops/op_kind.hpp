// An op kind: its inputs and parameters, shape rule, cost formula and kernels. Most have defaults:
//
//   OpKind{.name = "clamp",
//          .summary = "values above `limit` become `limit`",
//          .inputs = 1,
//          .attrs = {{.name = "limit", .fallback = 1.0}},
//          .cpu = [](const CpuCall& call) {
//            const auto limit = static_cast<float>(call.attrs.get<double>("limit"));
//            const float* x = call.inputs[0].as<float>();
//            float* y = call.output.as<float>();
//            const std::int64_t n = call.output.type.shape.elements();
//            for (std::int64_t i = 0; i < n; ++i) y[i] = std::min(x[i], limit);
//          }}
//
// This one is for tensors of float32; examples/custom_op has one for float64, too. To add a
// built-in one, copy a file of this folder, whose kernels use elementwise.hpp, and list the new
// kind in builtin.hpp and its file in CMakeLists.txt.
#pragma once

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/ops/attrs.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

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
  // For how many threads kernels cut their work, whatever the size of this team: the same for all
  // teams whose results must be the same. See widest_team() in core/machine/prepare_machine.hpp.
  virtual std::int64_t widest_team() const { return 1; }
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
  // Mostly aligned to kernel_alignment; those that a program lends are aligned to their elements.
  std::span<const ConstTensorView> inputs;
  // Aligned to kernel_alignment, and uninitialised; or the buffer of input OpKind::in_place_of; or
  // what OpKind::existing returned.
  TensorView output;
  std::span<const TensorView> further_outputs = {};  // of OpKind::further_outputs; likewise
  const Attrs& attrs;
  Team& team;
  std::uint32_t index = 0;  // of the op in its group
};

// Computes one op. Called on a thread of the device; blocks until the output is written. Results
// must not depend on team.size(): a run is compared bit for bit with a serial execution. Throws a
// run Error if the op fails.
using CpuKernel = void (*)(const CpuCall&);

// How many tensors an op reads.
struct InputCount {
  std::size_t min = 0;
  std::size_t max = 0;
  constexpr InputCount(std::size_t exactly = 0) : min(exactly), max(exactly) {}
  constexpr InputCount(std::size_t at_least, std::size_t at_most) : min(at_least), max(at_most) {}
};

// A usage Error without a place: "the inputs are float32 [2, 3] and float64 [3]; " and the remedy.
Error unfit_inputs(std::span<const TensorType> inputs, std::string remedy);

// The default shape rule: the type of the inputs, which all must have the same. Without inputs, the
// declared type. Throws a usage Error if inputs differ.
TensorType common_type(const OpSignature& op);

// The default cost: reads each input once, writes the output once, and computes
// `flops_per_element` for each element of the output.
Work streaming_work(const OpSignature& op, const TensorType& output, double flops_per_element);
template <int flops_per_element>
Work streaming(const OpSignature& op, const TensorType& output) {
  return streaming_work(op, output, flops_per_element);
}

// A tensor that an op makes besides its first one.
struct FurtherOutput {
  std::string_view name;                                 // y.name means it, if y is the op
  TensorType (*type)(const OpSignature&) = common_type;  // as OpKind::type
};

struct OpKind {
  static constexpr std::size_t further_outputs_max = 65'535;

  std::string_view name;  // a letter or _, then letters, digits, '_', '.' and '-'; if given, any
  std::string_view summary = {};  // one line, for listings
  InputCount inputs = 0;          // `2`, or `{0, 64}` for any number from 0 to 64
  std::vector<AttrSpec> attrs = {};
  bool declares_type = false;  // the user gives `shape` and `dtype`
  bool moves_data = false;     // links carry it out, not a kernel: copy, and no other kind
  bool fixed_time = false;     // takes the same time on every device (sleep): needs no rate
  bool is_given = false;       // no device computes it: its values come from outside the graph
  bool reads_host = false;     // reads what only a CPU can, such as files: no GPU computes it
  // Also reads and makes integers; else the graph refuses inputs and declared types of integers.
  bool takes_integers = false;
  // The kernel may compute in place of this input: if the op is the last one to read the input, and
  // makes a tensor of the input's type, then the output is the input's buffer.
  std::optional<std::uint8_t> in_place_of = {};

  // What the op makes besides the output that `type`, `work` and `in_place_of` are about: at most
  // further_outputs_max.
  std::vector<FurtherOutput> further_outputs = {};

  // Returns the output's type. Throws a usage Error without a place if the inputs don't fit.
  TensorType (*type)(const OpSignature&) = common_type;
  // The bytes of further outputs are added to the result.
  Work (*work)(const OpSignature&, const TensorType& output) = streaming<1>;
  CpuKernel cpu = nullptr;  // null: CPU devices can't run ops of this kind
  // What the kernel needs of the attributes, in a form that is fast to read: Attrs::prepared. Made
  // once for all ops with the same attributes. For ops that take less than a microsecond.
  std::shared_ptr<const void> (*prepare)(const Attrs&) = nullptr;
  // The output's values if they are in the host's memory already, at a multiple of
  // kernel_alignment; else null. The output then has no buffer of its own: the kernel gets these
  // values as its output, and must not write to them.
  std::shared_ptr<const std::byte> (*existing)(const Attrs&) = nullptr;
  // Loads libraries that the kernel needs, before a device gets such an op. May be called more than
  // once. Throws a run Error if one can't be loaded.
  void (*load)() = nullptr;
};

// The attributes of an op of this kind: those given, else the fallbacks, in the order of
// OpKind::attrs, and prepared. Whole numbers may be given where numbers are wanted. Throws a usage
// Error without a place if a required one isn't given, or one that is given has no such name, has
// another type, or is out of range. As the next ones, it throws an Error that names the function of
// the kind that throws something else.
Attrs complete_attrs(const OpKind& kind, const Attrs& given);

// The type of what an op makes; its attributes must be complete. Throws a usage Error without a
// place if the number or the types of inputs don't fit.
TensorType output_type(const OpKind& kind, const OpSignature& op);

// The types of all that an op makes: the output's, then those of further ones. Throws the same.
std::vector<TensorType> output_types(const OpKind& kind, const OpSignature& op);

// The work of an op that makes tensors of these types. Throws a usage Error without a place if it
// isn't finite or is below 0.
Work work_of(const OpKind& kind, const OpSignature& op, std::span<const TensorType> outputs);

// What OpKind::existing returns, which the kind must have.
std::shared_ptr<const std::byte> existing_of(const OpKind& kind, const Attrs& attrs);

}  // namespace troupe
