// libcudart: the capture of streams into graphs, and graphs.
#include "tests/support/cuda/stand_in/api.hpp"
#include "tests/support/cuda/stand_in/capture.hpp"
#include "tests/support/cuda/stand_in/kernels.hpp"

#include <algorithm>

using namespace troupe::testing;

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
      what,
      [&](Engine& e) {
        expect(e, handle, what);
        e.handles.remove(handle);
      },
      CallKind::release);
}

bool have_same_nodes(const std::vector<GraphNode>& a, const std::vector<GraphNode>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const GraphNode& x, const GraphNode& y) { return x.work.what == y.work.what; });
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

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode /*mode*/) {
  return api("cudaStreamBeginCapture", [&](Engine& e) {
    const auto stream = e.stream(handle, "cudaStreamBeginCapture");
    require(stream->capture == nullptr, cudaErrorIllegalState);
    stream->capture = std::make_shared<Capture>(*stream);
    stream->captured_order = {};
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api("cudaStreamEndCapture", [&](Engine& e) {
    *graph = nullptr;
    const auto stream = e.stream(handle, "cudaStreamEndCapture");
    const auto capture = stream->capture;
    require(capture != nullptr, cudaErrorIllegalState);
    *graph = e.handles.add(capture->end(*stream));
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return api("cudaStreamIsCapturing", [&](Engine& e) {
    const auto stream = e.stream(handle, "cudaStreamIsCapturing");
    *status = stream->capture == nullptr    ? cudaStreamCaptureStatusNone
              : stream->capture->is_valid() ? cudaStreamCaptureStatusActive
                                            : cudaStreamCaptureStatusInvalidated;
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return api("cudaGraphCreate", [&](Engine& e) {
    require(flags == 0);
    *graph = e.handles.add(std::make_shared<CUgraph_st>());
  });
}

// Only chains: a node without a node before it is the first one, any other comes after the last.
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t handle,
                                   const cudaGraphNode_t* before, std::size_t count,
                                   const cudaKernelNodeParams* kernel) {
  return api("cudaGraphAddKernelNode", [&](Engine& e) {
    const auto graph = expect(e, handle, "cudaGraphAddKernelNode");
    const std::size_t place = graph->nodes.size();
    require(graph->handles.size() == place);  // wasn't captured
    require(place == 0 ? count == 0 : count == 1 && before[0] == &graph->handles.back());
    GraphNode added;
    added.work = work_of(e, current_device(), *kernel);
    added.number = place + 1;
    if (place > 0) added.after.set(added.stream, place);
    graph->nodes.push_back(std::move(added));
    graph->handles.push_back({.place = place, .device = current_device()});
    *node = &graph->handles.back();
  });
}

// Launches of before keep their kernels.
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t handle, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* kernel) {
  return api("cudaGraphExecKernelNodeSetParams", [&](Engine& e) {
    const auto executable = expect(e, handle, "cudaGraphExecKernelNodeSetParams");
    require(node != nullptr && node->place < executable->nodes.size());
    executable->nodes[node->place].work = work_of(e, node->device, *kernel);
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  return api("cudaGraphInstantiate", [&](Engine& e) {
    auto made = std::make_shared<CUgraphExec_st>();
    made->nodes = expect(e, graph, "cudaGraphInstantiate")->nodes;
    *executable = e.handles.add(std::move(made));
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t on) {
  return api("cudaGraphLaunch", [&](Engine& e) {
    const auto stream = e.stream(on, "cudaGraphLaunch");
    const std::vector<GraphNode> nodes = expect(e, handle, "cudaGraphLaunch")->nodes;
    require(stream->capture == nullptr, cudaErrorStreamCaptureUnsupported);
    const std::uint64_t random = e.random(stream->index, stream->issued) | 1U;
    Work work{.what = "cudaGraphLaunch"};
    for (const GraphNode& node : nodes) {
      for (const Access& access : node.work.accesses) add_to(work.accesses, access);
    }
    work.is_kernel = !work.accesses.empty();
    work.run = [=] { run_graph(nodes, random); };
    ++e.control.launches;
    e.enqueue(*stream, std::move(work));
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return api("cudaGraphExecUpdate", [&](Engine& e) {
    const auto executable = expect(e, handle, "cudaGraphExecUpdate");
    const auto update = expect(e, graph, "cudaGraphExecUpdate");
    const bool fits = have_same_nodes(executable->nodes, update->nodes);
    *result = {};
    result->result = fits ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    require(fits, cudaErrorGraphExecUpdateFailure);
    executable->nodes = update->nodes;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return destroy(handle, "cudaGraphExecDestroy");
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return destroy(handle, "cudaGraphDestroy");
}
