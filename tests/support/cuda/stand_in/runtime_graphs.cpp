// libcudart: graphs, which are chains of kernels. A launched graph is one work of its stream.
#include "tests/support/cuda/stand_in/api.hpp"
#include "tests/support/cuda/stand_in/kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

using namespace troupe::testing;

// A node of a graph. It ends with its graph.
struct CUgraphNode_st {
  std::size_t place = 0;  // in the chain
  int device = 0;
};

struct CUgraph_st {
  static constexpr std::string_view kind = "graph";
  std::vector<Work> works;
  std::deque<CUgraphNode_st> nodes;
};

struct CUgraphExec_st {
  static constexpr std::string_view kind = "executable graph";
  std::vector<Work> works;
};

namespace {

template <class T>
std::shared_ptr<T> expect(Engine& e, T* handle, std::string_view what) {
  auto found = e.handles.find(handle);
  if (found != nullptr) return found;
  e.control.fail(std::string(what) + " uses a graph that doesn't exist");
  throw CudaFailure{cudaErrorInvalidValue};
}

template <class T>
cudaError_t destroy(T* handle, std::string_view what) {
  return api(
      [&](Engine& e) {
        expect(e, handle, what);
        e.handles.remove(handle);
      },
      CallKind::release);
}

// What an earlier node has written is read from that node, and not from other work.
void add_to(std::vector<Access>& all, const Access& access) {
  const bool is_own = std::any_of(all.begin(), all.end(), [&](const Access& before) {
    return before.writes && before.begin <= access.begin &&
           access.begin + access.bytes <= before.begin + before.bytes;
  });
  if (!is_own) all.push_back(access);
}

Work work_of(Engine& e, int device, const cudaKernelNodeParams& kernel) {
  return kernel_work(e, device, kernel.func, kernel.gridDim, kernel.blockDim, kernel.kernelParams,
                     kernel.sharedMemBytes);
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return api([&](Engine& e) {
    require(flags == 0);
    *graph = e.handles.add(std::make_shared<CUgraph_st>());
  });
}

// A node without a node before it is the first one, any other comes after the last.
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t handle,
                                   const cudaGraphNode_t* before, std::size_t count,
                                   const cudaKernelNodeParams* kernel) {
  return api([&](Engine& e) {
    const auto graph = expect(e, handle, "cudaGraphAddKernelNode");
    const std::size_t place = graph->nodes.size();
    require(place == 0 ? count == 0 : count == 1 && before[0] == &graph->nodes.back());
    graph->works.push_back(work_of(e, current_device(), *kernel));
    graph->nodes.push_back({.place = place, .device = current_device()});
    *node = &graph->nodes.back();
  });
}

// Launches of before keep their kernels.
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* kernel) {
  return api([&](Engine& e) {
    const auto executable = expect(e, handle, "cudaGraphExecKernelNodeSetParams");
    require(node != nullptr && node->place < executable->works.size());
    executable->works[node->place] = work_of(e, node->device, *kernel);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  return api([&](Engine& e) {
    auto made = std::make_shared<CUgraphExec_st>();
    made->works = expect(e, graph, "cudaGraphInstantiate")->works;
    *executable = e.handles.add(std::move(made));
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t on) {
  return api([&](Engine& e) {
    const auto stream = e.stream(on, "cudaGraphLaunch");
    const std::vector<Work> works = expect(e, handle, "cudaGraphLaunch")->works;
    Work work{.what = "cudaGraphLaunch"};
    for (const Work& one : works) {
      for (const Access& access : one.accesses) add_to(work.accesses, access);
    }
    work.is_kernel = !work.accesses.empty();
    work.run = [works] {
      for (const Work& one : works) one.run();
    };
    ++e.control.launches;
    e.enqueue(*stream, std::move(work));
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return destroy(handle, "cudaGraphExecDestroy");
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return destroy(handle, "cudaGraphDestroy");
}
