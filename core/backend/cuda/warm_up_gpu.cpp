#include "core/backend/cuda/warm_up_gpu.hpp"

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_owned.hpp"
#include "core/backend/cuda/cuda_queue.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

const CudaKernelEntry* find_kernel(std::string_view kind) {
  const auto all = cuda_kernels();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CudaKernelEntry& entry) { return entry.kind == kind; });
  return found != all.end() ? &*found : nullptr;
}

// Of an op, what the choice of its code depends on.
struct Known {
  int gpu = 0;
  bool uses_tf32 = false;
  const CudaKernelEntry* kernel = nullptr;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  std::vector<Attr> choices;
  friend bool operator==(const Known&, const Known&) = default;
};

// Those that have been computed. Thread-safe.
struct Computed {
  std::mutex mutex;
  std::vector<Known> ops;

  bool has(const Known& op) {
    const std::lock_guard lock(mutex);
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  }
  void add(Known op) {
    const std::lock_guard lock(mutex);
    ops.push_back(std::move(op));
  }
};

Known known_of(int gpu, bool uses_tf32, const KernelSample& op) {
  Known known{.gpu = gpu,
              .uses_tf32 = uses_tf32,
              .kernel = find_kernel(op.kind),
              .inputs = op.inputs,
              .outputs = op.outputs,
              .choices = {}};
  for (const Attrs::Entry& entry : op.attrs.entries()) {
    const bool is_choice = std::holds_alternative<bool>(entry.value) ||
                           std::holds_alternative<std::string>(entry.value);
    if (is_choice) known.choices.push_back(entry.value);
  }
  return known;
}

// Nobody waits for the end of work that has no slot.
class Unreported final : public Completions {
 public:
  void completed(std::uint32_t) override {}
  void failed(std::uint32_t, std::string) override {}
};

// Tensors of zeros, which live until the work on them has ended.
class Zeros {
 public:
  explicit Zeros(cudaStream_t stream) : stream_(stream) {}
  ~Zeros() { cudaStreamSynchronize(stream_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  std::byte* add(const TensorType& type) {
    const std::size_t bytes = std::max<std::size_t>(type.bytes(), 1);
    rooms_.push_back(allocate_memory(bytes, "allocating memory"));
    check_cuda(cudaMemsetAsync(rooms_.back().get(), 0, bytes, stream_), "filling memory");
    return rooms_.back().get();
  }

 private:
  const cudaStream_t stream_;
  std::vector<OwnedMemory> rooms_;
};

void compute(const CudaKernelEntry& kernel, const KernelSample& op, CudaQueue& queue) {
  Zeros zeros(queue.stream());
  std::vector<ConstTensorView> inputs;
  for (const TensorType& type : op.inputs) {
    inputs.push_back({.type = type, .data = zeros.add(type)});
  }
  std::vector<TensorView> outputs;
  for (const TensorType& type : op.outputs) {
    outputs.push_back({.type = type, .data = zeros.add(type)});
  }
  kernel.launch({.inputs = inputs,
                 .output = outputs.front(),
                 .further_outputs = std::span<const TensorView>(outputs).subspan(1),
                 .attrs = op.attrs,
                 .on = queue,
                 .verdict = queue.verdict(0)});  // of no interest: the values are made up
  check_cuda(cudaStreamSynchronize(queue.stream()), "the work");
}

}  // namespace

void warm_up_gpu(int gpu, const Device& device, std::span<const KernelSample> ops) {
  static Computed& computed = *new Computed;  // never destroyed, as static sessions may use it
  Unreported unreported;
  std::optional<CudaQueue> queue;
  for (const KernelSample& op : ops) {
    Known known = known_of(gpu, device.tf32, op);
    const CudaKernelEntry* const kernel = known.kernel;
    if (kernel == nullptr || computed.has(known)) continue;
    try {
      if (!queue) {
        queue.emplace(gpu, 0, 1, unreported);
        queue->uses_tf32 = device.tf32;
        queue->uses_graphs = device.cuda_graphs;
        queue->make_handles();
      }
      compute(*kernel, op, *queue);
      computed.add(std::move(known));
    } catch (const Error& error) {
      cudaGetLastError();  // is handled
      queue.reset();       // its handles may be missing
      if (cudaDeviceSynchronize() == cudaSuccess) continue;
      throw run_error(
          fmt::format("GPU {} can't compute '{}': {}", gpu, kernel->kind, error.problem()),
          error.remedy());
    }
  }
}

}  // namespace troupe
