// Captured graphs: their order, their values, and what a capture refuses.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_graphs, StandInFixture)

//  a: fill x ──┬── z = 2 x ──┬── w = 3 y
//  b:          └── y = 2 x ──┘
struct Diamond {
  float* x;
  float* y;
  float* z;
  float* w;
};

// Captures the graph, with or without the event from b to a.
cudaError_t capture(StandInFixture& f, const Diamond& d, float value, bool joins,
                    cudaGraph_t* graph) {
  const cudaEvent_t forked = f.event();
  const cudaEvent_t joined = f.event();
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeThreadLocal));
  CHECK_CUDA(launch_fill(d.x, value, f.n, f.a));
  CHECK_CUDA(cudaEventRecord(forked, f.a));
  CHECK_CUDA(cudaStreamWaitEvent(f.b, forked, 0));
  CHECK_CUDA(launch_scale(d.x, d.y, 2, f.n, f.b));
  CHECK_CUDA(cudaEventRecord(joined, f.b));
  CHECK_CUDA(launch_scale(d.x, d.z, 2, f.n, f.a));
  if (joins) CHECK_CUDA(cudaStreamWaitEvent(f.a, joined, 0));
  launch_scale(d.y, d.w, 3, f.n, f.a);
  return cudaStreamEndCapture(f.a, graph);
}

BOOST_AUTO_TEST_CASE(a_graph_runs_as_often_as_it_is_launched) {
  const Diamond d{device(), device(), device(), device()};
  float* out = pinned();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(capture(*this, d, 5, true, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 10; ++i) {
    CHECK_CUDA(launch_fill(d.w, 0, n, a));
    CHECK_CUDA(cudaGraphLaunch(executable, a));
    CHECK_CUDA(cudaMemcpyAsync(out, d.w, bytes, cudaMemcpyDeviceToHost, a));
    CHECK_CUDA(cudaStreamSynchronize(a));
    BOOST_CHECK_EQUAL(out[n - 1], 30);
  }
  // Another value in the same places.
  cudaGraph_t update = nullptr;
  cudaGraphExecUpdateResultInfo result{};
  CHECK_CUDA(capture(*this, d, 7, true, &update));
  CHECK_CUDA(cudaGraphExecUpdate(executable, update, &result));
  CHECK_CUDA(cudaGraphLaunch(executable, b));
  CHECK_CUDA(cudaStreamSynchronize(b));
  CHECK_CUDA(cudaMemcpy(out, d.w, bytes, cudaMemcpyDeviceToHost));
  BOOST_CHECK_EQUAL(out[0], 42);
  CHECK_CUDA(cudaGraphDestroy(update));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaGraphExecDestroy(executable));
}

BOOST_AUTO_TEST_CASE(a_race_inside_a_graph_is_found_when_it_is_captured) {
  const Diamond d{device(), device(), device(), device()};
  cudaGraph_t graph = nullptr;
  CHECK_ERROR(capture(*this, d, 5, false, &graph), cudaErrorStreamCaptureUnjoined);
  expect_failure("in a captured graph allocation");
}

BOOST_AUTO_TEST_CASE(a_launch_races_as_a_whole) {
  const Diamond d{device(), device(), device(), device()};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(capture(*this, d, 5, true, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  launch_fill(d.y, 0, n, b);
  cudaGraphLaunch(executable, a);
  BOOST_CHECK_NE(failures().find("race: cudaGraphLaunch"), std::string::npos);
  cudaDeviceSynchronize();
  cudaFree(d.y);
  forget(d.y);
  CHECK_ERROR(cudaGraphLaunch(executable, a), cudaErrorInvalidValue);
  expect_failure("use of freed memory: cudaGraphLaunch");
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaGraphExecDestroy(executable));
}

// A chain of two kernels: x is filled, then y = 2 x.
struct FillAndScale {
  explicit FillAndScale(StandInFixture& f) : x(f.device()), y(f.device()) {
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    CHECK_CUDA(cudaGraphAddKernelNode(&nodes[0], graph, nullptr, 0, &fill));
    CHECK_CUDA(cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &fill));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable, nodes[1], &scale));
  }
  ~FillAndScale() {
    CHECK_CUDA(cudaGraphExecDestroy(executable));
    CHECK_CUDA(cudaGraphDestroy(graph));
  }
  FillAndScale(const FillAndScale&) = delete;
  FillAndScale& operator=(const FillAndScale&) = delete;

  // CUDA copies the arguments.
  cudaError_t fill_with(float new_value) {
    value = new_value;
    return cudaGraphExecKernelNodeSetParams(executable, nodes[0], &fill);
  }
  static cudaKernelNodeParams node_of(const void* kernel, void** arguments) {
    cudaKernelNodeParams node{};
    node.func = const_cast<void*>(kernel);
    node.gridDim = dim3(StandInFixture::n);
    node.blockDim = dim3(1);
    node.kernelParams = arguments;
    return node;
  }

  float* x;
  float* y;
  float value = 3;
  float factor = 2;
  std::size_t count = StandInFixture::n;
  void* of_fill[3] = {&x, &value, &count};
  void* of_scale[4] = {&x, &y, &factor, &count};
  cudaKernelNodeParams fill = node_of(fill_kernel(), of_fill);
  cudaKernelNodeParams scale = node_of(scale_kernel(), of_scale);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphNode_t nodes[2] = {};
};

BOOST_AUTO_TEST_CASE(a_chain_runs_in_order_with_the_arguments_that_it_had_when_it_was_launched) {
  FillAndScale chain(*this);
  std::vector<float*> out;
  for (int value = 1; value <= 20; ++value) {
    out.push_back(pinned());
    CHECK_CUDA(chain.fill_with(static_cast<float>(value)));
    CHECK_CUDA(cudaGraphLaunch(chain.executable, a));
    CHECK_CUDA(cudaMemcpyAsync(out.back(), chain.y, bytes, cudaMemcpyDeviceToHost, a));
  }
  CHECK_CUDA(cudaStreamSynchronize(a));
  for (std::size_t i = 0; i < out.size(); ++i) {
    BOOST_CHECK_EQUAL(out[i][n - 1], 2 * static_cast<float>(i + 1));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_come_after_the_last_one_is_refused) {
  FillAndScale chain(*this);
  cudaGraphNode_t third = nullptr;
  CHECK_ERROR(cudaGraphAddKernelNode(&third, chain.graph, nullptr, 0, &chain.fill),
              cudaErrorInvalidValue);
}

// What the chain reads was written elsewhere before, and by the chain itself since.
BOOST_AUTO_TEST_CASE(what_a_chain_has_made_itself_is_no_round_trip) {
  FillAndScale chain(*this);
  CHECK_CUDA(launch_fill(chain.x, 1, n, b));
  CHECK_CUDA(cudaStreamSynchronize(b));
  stand_in.set("round_trips", 0);
  CHECK_CUDA(cudaGraphLaunch(chain.executable, a));
  BOOST_CHECK_EQUAL(stand_in.get("round_trips"), 0);
  CHECK_CUDA(launch_scale(chain.x, chain.y, 2, n, b));  // a race: a hasn't been waited for
  BOOST_CHECK_NE(failures().find("race"), std::string::npos);
  CHECK_CUDA(cudaDeviceSynchronize());
}

BOOST_AUTO_TEST_CASE(a_capture_refuses_waits) {
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamIsCapturing(a, &status));
  BOOST_CHECK_EQUAL(status, cudaStreamCaptureStatusNone);
  CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  CHECK_CUDA(cudaStreamIsCapturing(a, &status));
  BOOST_CHECK_EQUAL(status, cudaStreamCaptureStatusActive);
  CHECK_ERROR(cudaStreamSynchronize(a), cudaErrorStreamCaptureUnsupported);
  CHECK_CUDA(cudaStreamIsCapturing(a, &status));
  BOOST_CHECK_EQUAL(status, cudaStreamCaptureStatusInvalidated);
  CHECK_ERROR(cudaStreamEndCapture(a, &graph), cudaErrorStreamCaptureInvalidated);
  CHECK_CUDA(cudaStreamSynchronize(a));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
