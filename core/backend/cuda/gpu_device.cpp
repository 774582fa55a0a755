#include "core/backend/cuda/gpu_device.hpp"

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_queue.hpp"
#include "core/backend/cuda/profile_range.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// The kernels by OpKindId; null where there is none.
std::vector<const CudaKernelEntry*> kernels_of(const OpRegistry& ops) {
  std::vector<const CudaKernelEntry*> kernels(ops.size(), nullptr);
  for (const CudaKernelEntry& entry : cuda_kernels()) {
    if (const OpKindId kind = ops.find(entry.kind)) kernels[kind.index()] = &entry;
  }
  return kernels;
}

struct IssueCounter {
  std::atomic<std::uint64_t> ops = 0;
  std::atomic<std::int64_t> took_ns = 0;
};

struct IssueCounters {
  std::mutex mutex;
  std::map<int, IssueCounter> of_gpu;
};

IssueCounter& counter_of(int gpu) {
  // Never destroyed: devices of static sessions may outlive other static objects.
  static IssueCounters& counters = *new IssueCounters;
  const std::lock_guard lock(counters.mutex);
  return counters.of_gpu[gpu];
}

class GpuDevice final : public DeviceBackend {
 public:
  GpuDevice(const BackendContext& context, DeviceId id, int gpu, std::uint32_t depth)
      : name_(context.machine.device(id).name),
        store_(context.store),
        depth_(depth),
        launch_time_(context.machine.device(id).launch),
        kernels_(kernels_of(context.ops)),
        issued_(counter_of(gpu)) {
    const int streams = context.machine.device(id).streams;
    for (int s = 0; s < streams; ++s) {
      queues_.push_back(std::make_unique<CudaQueue>(gpu, static_cast<std::uint32_t>(s) * depth,
                                                    depth, context.completions));
      queues_.back()->uses_tf32 = context.machine.device(id).tf32;
      queues_.back()->uses_graphs = context.machine.device(id).cuda_graphs;
    }
  }

  void enter_thread() override {
    try {
      for (const auto& queue : queues_) queue->make_handles();
    } catch (const Error& error) {
      throw run_error(fmt::format("{} can't begin: {}", name_, error.problem()), error.remedy());
    }
  }

  Started start(std::uint32_t slot, const KernelCall& call) override {
    const auto begun = std::chrono::steady_clock::now();
    const CudaKernelEntry* const kernel = kernels_[call.kind.index()];
    TROUPE_ASSERT(kernel != nullptr);
    inputs_.clear();
    for (const ReplicaId r : call.inputs) {
      const MemoryStore::View input = store_.view(r);
      inputs_.push_back({.type = input.type, .data = input.data});
    }
    further_.clear();
    for (std::uint32_t k = 1; k <= call.further; ++k) {
      const MemoryStore::View output = store_.view(ReplicaId{call.output.value + k});
      further_.push_back({.type = output.type, .data = output.data});
    }
    const MemoryStore::View output = store_.view(call.output);
    const ProfileRange range(kernel->kind, call.index, output.type);
    CudaQueue& queue = *queues_[slot / depth_];
    queue.begin(slot, call.issue->after, call.expected - launch_time_);
    kernel->launch({.inputs = inputs_,
                    .output = {.type = output.type, .data = output.data},
                    .further_outputs = further_,
                    .attrs = *call.attrs,
                    .on = queue,
                    .index = call.index,
                    .verdict = queue.verdict(slot)});
    call.issue->token = queue.end(slot, kernel->explain);
    count(begun, 1);
    return {.state = Started::State::pending};
  }

  void submit() override {
    const auto begun = std::chrono::steady_clock::now();
    for (const auto& queue : queues_) queue->submit();
    count(begun, 0);
  }

 private:
  // The time since then was for issuing so many ops.
  void count(std::chrono::steady_clock::time_point begun, std::uint64_t ops) {
    const Duration took = std::chrono::steady_clock::now() - begun;
    issued_.took_ns.fetch_add(took.count(), std::memory_order_relaxed);
    issued_.ops.fetch_add(ops, std::memory_order_relaxed);
  }

  const std::string name_;
  MemoryStore& store_;
  const std::uint32_t depth_;
  const Duration launch_time_;  // that the cost model adds to every op
  const std::vector<const CudaKernelEntry*> kernels_;
  IssueCounter& issued_;
  std::vector<std::unique_ptr<CudaQueue>> queues_;  // by stream
  std::vector<ConstTensorView> inputs_;             // of the op that is issued
  std::vector<TensorView> further_;
};

}  // namespace

std::unique_ptr<DeviceBackend> make_gpu_device(const BackendContext& context, DeviceId id, int gpu,
                                               std::uint32_t depth) {
  return std::make_unique<GpuDevice>(context, id, gpu, depth);
}

CudaIssued issued_to(int gpu) {
  const IssueCounter& counter = counter_of(gpu);
  return {.ops = counter.ops, .took = Duration{counter.took_ns}};
}

}  // namespace troupe
