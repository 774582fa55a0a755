// Graphs: their order, their values, and their races.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_graphs, StandInFixture)

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

BOOST_AUTO_TEST_CASE(a_launch_races_as_a_whole) {
  FillAndScale chain(*this);
  launch_fill(chain.y, 0, n, b);
  CHECK_CUDA(cudaGraphLaunch(chain.executable, a));
  expect_failure("race: cudaGraphLaunch");
  cudaDeviceSynchronize();
  cudaFree(chain.y);
  forget(chain.y);
  CHECK_ERROR(cudaGraphLaunch(chain.executable, a), cudaErrorInvalidValue);
  expect_failure("use of freed memory: cudaGraphLaunch");
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
