// Wrong uses of streams, events and handles, waits where none is allowed, and leaks.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <thread>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_faults, StandInFixture)

BOOST_AUTO_TEST_CASE(the_default_stream_is_refused) {
  CHECK_ERROR(launch_fill(device(), 1, n, nullptr), cudaErrorInvalidResourceHandle);
  expect_failure("default stream");
}

BOOST_AUTO_TEST_CASE(streams_that_wait_for_the_default_stream_are_refused) {
  cudaStream_t made = nullptr;
  CHECK_ERROR(cudaStreamCreateWithFlags(&made, cudaStreamDefault), cudaErrorInvalidValue);
  expect_failure("only non-blocking streams");
}

BOOST_AUTO_TEST_CASE(a_destroyed_stream_is_used) {
  cudaStream_t c = stream();
  CHECK_CUDA(cudaStreamDestroy(c));
  CHECK_ERROR(cudaStreamSynchronize(c), cudaErrorInvalidResourceHandle);
  expect_failure("uses a stream that doesn't exist");
}

BOOST_AUTO_TEST_CASE(work_of_a_destroyed_stream_goes_on) {
  cudaStream_t c = stream();
  float* x = device();
  float* out = pinned();
  const cudaEvent_t done = event();
  for (int i = 0; i < 20; ++i) CHECK_CUDA(launch_fill(x, static_cast<float>(i), n, c));
  CHECK_CUDA(cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, c));
  CHECK_CUDA(cudaEventRecord(done, c));
  CHECK_CUDA(cudaStreamDestroy(c));
  CHECK_CUDA(cudaEventSynchronize(done));
  BOOST_CHECK_EQUAL(out[0], 19);
}

BOOST_AUTO_TEST_CASE(a_destroyed_event_is_used) {
  const cudaEvent_t gone = event();
  events.clear();
  CHECK_CUDA(cudaEventDestroy(gone));
  CHECK_ERROR(cudaEventRecord(gone, a), cudaErrorInvalidResourceHandle);
  expect_failure("uses an event that doesn't exist");
}

BOOST_AUTO_TEST_CASE(a_kernel_without_a_body_is_named) {
  CHECK_ERROR(launch_unknown(a), cudaErrorInvalidDeviceFunction);
  expect_failure("unknown kernel: no body on the CPU for stand_in_test_unknown");
}

BOOST_AUTO_TEST_CASE(kernels_without_bodies_are_found_without_a_launch) {
  stand_in.check_kernels();
  expect_failure("unknown kernel: no body on the CPU for stand_in_test_unknown");
}

BOOST_AUTO_TEST_CASE(a_host_wait_is_caught_where_none_is_allowed) {
  launch_fill(device(), 1, n, a);
  stand_in.begin_no_wait();
  cudaStreamSynchronize(a);
  std::thread([this] { cudaStreamSynchronize(a); }).join();  // it only looks
  stand_in.end_no_wait();
  expect_failure("host wait: cudaStreamSynchronize");
  cudaStreamSynchronize(a);
}

BOOST_AUTO_TEST_CASE(a_round_trip_is_caught_where_none_is_allowed) {
  float* x = device();
  float* y = device();
  const cudaEvent_t filled = event();
  launch_fill(x, 1, n, a);
  cudaEventRecord(filled, a);
  stand_in.begin_no_wait();
  while (cudaEventQuery(filled) != cudaSuccess) {
  }
  launch_scale(x, y, 1, n, b);
  stand_in.end_no_wait();
  expect_failure("round trip: void troupe::testing::scale");
}

BOOST_AUTO_TEST_CASE(leaks_are_named) {
  failures();
  cudaStream_t c = stream();
  float* x = device();
  stand_in.check_leaks();
  const std::string text = failures();
  BOOST_CHECK_NE(text.find("leak: 3 streams not destroyed"), std::string::npos);
  BOOST_CHECK_NE(text.find("(memory of device 0, 4000 bytes) not freed"), std::string::npos);
  BOOST_CHECK(x != nullptr);
  cudaStreamDestroy(c);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
