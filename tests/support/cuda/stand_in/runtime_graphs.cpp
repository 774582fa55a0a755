// libcudart: the capture of streams into graphs, and graphs.
#include "tests/support/cuda/stand_in/api.hpp"
#include "tests/support/cuda/stand_in/capture.hpp"

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

bool have_same_nodes(const CUgraph_st& a, const CUgraph_st& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (a.nodes[i].work.what != b.nodes[i].work.what) return false;
  }
  return true;
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

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  return api("cudaGraphInstantiate", [&](Engine& e) {
    auto made = std::make_shared<CUgraphExec_st>();
    made->graph = expect(e, graph, "cudaGraphInstantiate");
    *executable = e.handles.add(std::move(made));
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t on) {
  return api("cudaGraphLaunch", [&](Engine& e) {
    const auto stream = e.stream(on, "cudaGraphLaunch");
    const auto graph = expect(e, handle, "cudaGraphLaunch")->graph;
    require(stream->capture == nullptr, cudaErrorStreamCaptureUnsupported);
    const std::uint64_t random = e.random(stream->index, stream->issued) | 1U;
    Work work{.what = "cudaGraphLaunch", .is_kernel = true};
    for (const GraphNode& node : graph->nodes) {
      work.accesses.insert(work.accesses.end(), node.work.accesses.begin(),
                           node.work.accesses.end());
    }
    work.run = [=] { run_graph(graph->nodes, random); };
    ++e.control.launches;
    e.enqueue(*stream, std::move(work));
  });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return api("cudaGraphExecUpdate", [&](Engine& e) {
    const auto executable = expect(e, handle, "cudaGraphExecUpdate");
    auto update = expect(e, graph, "cudaGraphExecUpdate");
    const bool fits = have_same_nodes(*executable->graph, *update);
    *result = {};
    result->result = fits ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    require(fits, cudaErrorGraphExecUpdateFailure);
    executable->graph = std::move(update);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return destroy(handle, "cudaGraphExecDestroy");
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return destroy(handle, "cudaGraphDestroy");
}
