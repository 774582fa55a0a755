// A session: ordinary calls that run, or are simulated, in parallel on all devices of a machine.
#pragma once

#include "core/backend/mode.hpp"
#include "core/base/call_site.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/network/tls_context.hpp"
#include "core/ops/registry.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/trace/report.hpp"

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class Session;
class SessionCore;
struct TensorState;

// The types of elements that programs give and read.
template <class T>
concept TensorElement = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

// A handle of a tensor that a session has made or will make. Copies of a handle mean the same
// tensor. When the last one is gone and every op that reads the tensor has run, its memory is
// freed. A handle may outlive its session. Then only its type and shape may be read: all else that
// is done with it throws a usage Error.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Tensor();

  // Whether the handle has a tensor: not if it was made without one, or moved from.
  explicit operator bool() const { return state_ != nullptr; }
  // Throw a usage Error if the handle is empty.
  const TensorType& type(CallSite where = CallSite::here()) const;
  const Shape& shape(CallSite where = CallSite::here()) const { return type(where).shape; }

  // Another tensor with these values in a memory, which the name of a device stands for, too: a
  // copy even where they are there already. Returns at once. Throws a usage Error if the machine
  // has no such memory.
  Tensor to(std::string_view memory, CallSite where = CallSite::here()) const;
  Tensor to(std::nullptr_t, CallSite = {}) const = delete;  // names, not numbers: to(0)
  // Blocks until the tensor has been made; other calls may still run. Throws the session's Error if
  // it has failed.
  void wait(CallSite where = CallSite::here()) const;
  // The same for at most `timeout`, in any unit; one of 0 or less doesn't block. Returns whether
  // the tensor is known to have been made. A simulation takes no timeout, as its results must not
  // depend on the host: it waits as wait() does.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> timeout,
                CallSite where = CallSite::here()) const {
    return is_made_within(from_time(timeout), where);
  }
  // Blocks until the tensor has been made, and returns a copy of its elements, in row-major order.
  // Throws the session's Error if it has failed, a usage Error if the elements aren't of type T or
  // the session simulates without values, a run Error if the host has no memory for the copy.
  template <TensorElement T>
  std::vector<T> read(CallSite where = CallSite::here()) const;
  // Blocks until the tensor has been made, and returns its elements for people to look at, with six
  // digits and in brackets: "[[1 2]\n [3 4]]". With more than 1,000 elements, each axis longer than
  // 6 has its first and last three only, and "..." between them; with fewer, only a row longer than
  // 20. All of the tensor is copied, unless it is in the memory of this host. A simulation, which
  // has no values, says what the tensor is: "float32 [2, 2]". Throws the session's Error if it has
  // failed, a usage Error if the handle is empty or the session has ended, a run Error if the host
  // has no memory for the copy.
  std::string text(CallSite where = CallSite::here()) const;
  // Blocks until the tensor has been made, and writes it to a .npy file, or under `name` to a
  // .safetensors file, which appears only when it is complete. Throws what read() throws, a usage
  // Error if there can't be such a file, a run Error if it can't be written to its end.
  void save(const std::filesystem::path& file, std::string_view name = {},
            CallSite where = CallSite::here()) const;

 private:
  friend class SessionCore;
  explicit Tensor(TensorState* state) : state_(state) {}

  bool is_made_within(Duration timeout, CallSite where) const;

  TensorState* state_ = nullptr;
};

// Writes what tensor.text() returns. Blocks and throws likewise; the errors don't say where the
// program called it.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// The environment variable that names nodes, "host:port,host:port", for a session that runs and has
// neither `node_addresses` nor a machine without nodes. Empty: none. `troupe launch` sets it.
inline constexpr const char* nodes_variable = "TROUPE_NODES";
// How tensors go between these nodes: "tcp", which is the default, or "shared-memory".
inline constexpr const char* transport_variable = "TROUPE_TRANSPORT";

struct SessionOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // The op kinds: builtin_ops(), or a copy of it to which kinds were added; others are refused.
  OpRegistry ops = builtin_ops();
  // Nodes that the session is to run on, "host:port" each, in their order: what `troupe node` says
  // that it listens on. They must have these op kinds. None: those of nodes_variable; if there are
  // none, too, it runs in this process.
  std::vector<std::string> node_addresses = {};
  // If no machine is given: that of the nodes has their GPUs, too.
  bool node_gpus = false;
  // Tensors go from node to node through shared memory, for which all nodes must be on one host;
  // else by TCP.
  bool node_shared_memory = false;
  // How it shows who it is to nodes with --tls-cert.
  TlsFiles tls = {};
};

struct OpenScope;

// While it lives, its session's calls of its thread are placed on its device: calls go to that of
// the youngest scope of the thread that hasn't ended. Scopes may end in any order, but must end on
// the thread that began them. One may outlive its session, and may be moved, say into an optional,
// within its thread.
class [[nodiscard]] DeviceScope {
 public:
  ~DeviceScope();
  DeviceScope(DeviceScope&& other) noexcept : open_(std::exchange(other.open_, nullptr)) {}
  DeviceScope& operator=(DeviceScope&&) = delete;

 private:
  friend class Session;
  DeviceScope(std::uint64_t session, DeviceId device);
  OpenScope* open_;  // null: another object ends it
};

// Runs calls on all devices of a machine. A call says what to compute and returns at once; the work
// begins while the caller goes on, and whatever doesn't depend on each other runs at the same time.
// Every op that was called is carried out, whether or not its result is read.
//
//   Session session;
//   const Tensor x = session.uniform({2000, 2000});
//   for (int i = 0; i < 10; ++i) relu(matmul(x, x));
//   session.wait_all();
//
// The functions and operators that compute are in tensor_ops.hpp.
//
// The child of a fork() can't use its parent's sessions, whose threads stay with the parent: calls,
// waits and reads throw a usage Error there, and their destructors do nothing. Let it make sessions
// of its own.
//
// Where a memory has no room for a call, tensors that the call doesn't read move to other memories
// that have: those first that were used least recently. Where none has, the session fails.
//
// Any thread may call any function. A call throws a usage Error, with the caller's file and line,
// if its inputs don't fit. If an op fails, no further op starts, and every later wait, read or call
// throws an Error that names the op, its device and the line that called it; those that are made
// later say that the session has ended with it.
class Session {
 public:
  // This machine: a CPU device with a memory for each NUMA node: cpu0 with mem0, and so on. Or the
  // devices that the nodes of the options lend, joined by a network: n0.cpu0 with n0.mem0, and so
  // on, or by the nodes' own names. Asking nodes blocks; throws an Error that names those that
  // can't be reached, work for somebody else, or have other op kinds.
  explicit Session(const SessionOptions& options = {}, CallSite where = CallSite::here());
  // A machine from a file (docs/machine_files.md), or a value. What it leaves open is
  // what this host has if it is to run here: the cores of CPU devices, the size of storage, the
  // memory of GPUs at most. Throws a usage Error for a bad file, if a device or link can't be used
  // in this mode, or if the machine has several nodes and the options have others, or none: without
  // nodes it can be simulated.
  explicit Session(const std::filesystem::path& machine_file, const SessionOptions& options = {},
                   CallSite where = CallSite::here());
  explicit Session(Machine machine, const SessionOptions& options = {},
                   CallSite where = CallSite::here());
  // Completes what is pending, and prints an error to standard error where there is one that no
  // wait has thrown.
  ~Session();
  // Its tensors and scopes stay valid. A session that was moved from throws a usage Error if it is
  // used.
  Session(Session&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  Session& operator=(Session&&) = delete;

  const Machine& machine() const;

  // Places the calls of this thread on a device while the result lives. Without that, a placement
  // policy chooses. Throws a usage Error if the machine has no such device.
  DeviceScope on(std::string_view device, CallSite where = CallSite::here()) const;
  DeviceScope on(std::nullptr_t, CallSite = {}) const = delete;  // names, not numbers: on(0)

  // Seeded values in [0, 1), the same on every device.
  Tensor uniform(const Shape& shape, std::int64_t seed = 0, DType dtype = DType::f32,
                 CallSite where = CallSite::here());
  // Seeded values of the normal distribution of mean 0 and variance 1, which Box and Muller's
  // method makes of those of uniform(): nine ops. Like exp() and log(), they may differ by
  // roundings from one kind of device or processor to another.
  Tensor normal(const Shape& shape, std::int64_t seed = 0, DType dtype = DType::f32,
                CallSite where = CallSite::here());
  Tensor zeros(const Shape& shape, DType dtype = DType::f32, CallSite where = CallSite::here());
  // The numbers 0 to count - 1, each rounded to the element type. Throws a usage Error if int32
  // can't hold them.
  Tensor arange(Extent count, DType dtype = DType::i64, CallSite where = CallSite::here());
  // `value` everywhere, rounded to the element type. Throws a usage Error if integers can't hold
  // it.
  Tensor constant(const Shape& shape, double value, DType dtype = DType::f32,
                  CallSite where = CallSite::here());
  // A tensor with these elements, in row-major order, in the memory of the scope's device, or else
  // in the first memory of the machine; a GPU gets them from the host's memory beside it, by a
  // transfer as those of to(). Copies them before it returns, for which it may block while
  // earlier calls hold much. Throws a usage Error if their number isn't that of the shape, a run
  // Error if the host has no memory for the copy.
  Tensor tensor(std::span<const float> elements, const Shape& shape,
                CallSite where = CallSite::here());
  Tensor tensor(std::span<const double> elements, const Shape& shape,
                CallSite where = CallSite::here());
  Tensor tensor(std::span<const std::int32_t> elements, const Shape& shape,
                CallSite where = CallSite::here());
  Tensor tensor(std::span<const std::int64_t> elements, const Shape& shape,
                CallSite where = CallSite::here());
  template <TensorElement T>
  Tensor tensor(std::initializer_list<T> elements, const Shape& shape,
                CallSite where = CallSite::here()) {
    return tensor(std::span<const T>(elements.begin(), elements.size()), shape, where);
  }
  // The tensor of a .npy file, or the one called `name` of a .safetensors file, of any of these
  // types, in the same memory. Blocks until it has been read; a simulation reads only the header.
  // It may be used where the system keeps the file: if a program writes to the file, the tensor
  // changes, and if it makes the file shorter, this process ends (SIGBUS). To change the file,
  // write a new one and rename it. Throws a usage Error, with the file as its place, if that can't
  // be done or the file isn't what its header says.
  Tensor load(const std::filesystem::path& file, std::string_view name = {},
              CallSite where = CallSite::here());
  // A tensor with these elements where they are, in row-major order: they are not copied, and must
  // not change until `deleter` is called. That is when the tensor is freed; at the latest when the
  // session ends, which waits for what reads them; also if the session fails, or this call throws.
  // It is called once, on any thread; it must not throw, nor use the session.
  // The elements are copied, and the deleter is called soon, if the memory of the scope's device,
  // or else the first one of the machine, is storage or on a node; or if the session computes no
  // values. A GPU gets them as with tensor(), and the deleter is called when it has them. Throws a
  // usage Error if their number isn't that of the shape.
  Tensor adopt(std::span<const float> elements, const Shape& shape, std::function<void()> deleter,
               CallSite where = CallSite::here());
  Tensor adopt(std::span<const double> elements, const Shape& shape, std::function<void()> deleter,
               CallSite where = CallSite::here());
  Tensor adopt(std::span<const std::int32_t> elements, const Shape& shape,
               std::function<void()> deleter, CallSite where = CallSite::here());
  Tensor adopt(std::span<const std::int64_t> elements, const Shape& shape,
               std::function<void()> deleter, CallSite where = CallSite::here());
  // Any op kind, by name. Attributes that aren't given take their fallbacks. Returns the first
  // tensor that the op makes.
  Tensor call(std::string_view kind, std::initializer_list<Tensor> inputs, Attrs attrs = {},
              TensorType declared = {}, CallSite where = CallSite::here());
  Tensor call(std::string_view kind, std::span<const Tensor> inputs, Attrs attrs = {},
              TensorType declared = {}, CallSite where = CallSite::here());
  // The same, and returns all tensors that the op makes, in the order of its kind.
  std::vector<Tensor> call_all(std::string_view kind, std::span<const Tensor> inputs,
                               Attrs attrs = {}, TensorType declared = {},
                               CallSite where = CallSite::here());
  std::vector<Tensor> call_all(std::string_view kind, std::initializer_list<Tensor> inputs,
                               Attrs attrs = {}, TensorType declared = {},
                               CallSite where = CallSite::here());

  // Blocks until these tensors have been made, and writes them under their names to one
  // .safetensors file. Throws like Tensor::save(), and a usage Error if one is of another session.
  void save(const std::filesystem::path& file, const std::map<std::string, Tensor>& tensors,
            CallSite where = CallSite::here());

  // Blocks until all that was called before has been carried out. Throws the session's Error if it
  // has failed.
  void wait_all(CallSite where = CallSite::here());
  // The same for what was called before and is computed by this device: by the calls' scope, or by
  // the placement policy. Throws a usage Error if the machine has no such device.
  void wait(std::string_view device, CallSite where = CallSite::here());
  void wait(std::nullptr_t, CallSite = {}) = delete;  // names, not numbers: wait(0)

  // In a simulation only what is measured takes time. What is measured takes memory for each op.
  //
  // Runs `work` once to warm up and once more with the clock running, each with wait_all() at its
  // end. So tensors that there were before are where `work` reads them when the clock starts: to
  // time their copies, too, let `work` make them. Adds the times to the report as a scenario, and
  // returns it, to be used until the session ends. Other threads may use the session meanwhile:
  // what they call while the clock runs is measured, too. Their calls wait while it starts and
  // while it stops, until nothing is left of earlier ones. Throws what `work` throws, and a usage
  // Error if it is empty, measures itself, or another thread measures; the report then has no such
  // scenario. Results aren't compared with a serial execution. Copies of tensors that are
  // elsewhere, too, make no room for others while the clock runs.
  const ScenarioReport& measure(std::string_view name, const std::function<void()>& work,
                                CallSite where = CallSite::here());
  // A copy of all that was measured. Its notes say what GPUs had done since the session began when
  // the last measure() ended; how links of nodes copied isn't known before the session ends.
  Report report() const;

 private:
  friend class SessionCore;
  explicit Session(SessionCore* core) : core_(core) {}

  SessionCore& core(CallSite where) const;

  SessionCore* core_ = nullptr;
};

template <>
std::vector<float> Tensor::read<float>(CallSite where) const;
template <>
std::vector<double> Tensor::read<double>(CallSite where) const;
template <>
std::vector<std::int32_t> Tensor::read<std::int32_t>(CallSite where) const;
template <>
std::vector<std::int64_t> Tensor::read<std::int64_t>(CallSite where) const;

}  // namespace troupe
