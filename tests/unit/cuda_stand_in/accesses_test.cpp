// Each way of using memory wrongly, put in once.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <array>
#include <atomic>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_accesses, StandInFixture)

//  a: fill x        b: y = x      without an event between them
BOOST_AUTO_TEST_CASE(a_read_without_the_event_is_a_race) {
  float* x = device();
  float* y = device();
  launch_fill(x, 1, n, a);
  launch_scale(x, y, 2, n, b);
  expect_failure("race: void troupe::testing::scale<float>");
}

BOOST_AUTO_TEST_CASE(an_event_recorded_too_early_does_not_help) {
  float* x = device();
  float* y = device();
  const cudaEvent_t early = event();
  cudaEventRecord(early, a);
  launch_fill(x, 1, n, a);
  cudaStreamWaitEvent(b, early, 0);
  launch_scale(x, y, 2, n, b);
  expect_failure("nothing orders the two");
}

BOOST_AUTO_TEST_CASE(a_write_after_an_unordered_read_is_a_race) {
  float* x = device();
  float* y = device();
  float* z = device();
  launch_fill(x, 1, n, a);
  const cudaEvent_t filled = event();
  cudaEventRecord(filled, a);
  cudaStreamWaitEvent(b, filled, 0);
  launch_scale(x, y, 2, n, b);
  launch_scale(x, z, 2, n, a);  // two reads are no race
  BOOST_CHECK_EQUAL(failures(), "");
  launch_fill(x, 3, n, a);
  expect_failure("race: stand_in_test_fill");
}

BOOST_AUTO_TEST_CASE(a_wait_of_the_host_orders_streams) {
  float* x = device();
  float* y = device();
  launch_fill(x, 1, n, a);
  const cudaEvent_t filled = event();
  cudaEventRecord(filled, a);
  cudaEventSynchronize(filled);
  launch_scale(x, y, 2, n, b);
}

BOOST_AUTO_TEST_CASE(copies_of_different_parts_are_no_race) {
  float* x = device();
  float* in = pinned(1);
  cudaMemcpyAsync(x, in, 400, cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(x + 100, in + 100, 400, cudaMemcpyHostToDevice, b);
  BOOST_CHECK_EQUAL(failures(), "");
  cudaMemcpyAsync(x + 99, in, 8, cudaMemcpyHostToDevice, a);
  expect_failure("race: cudaMemcpyAsync");
}

BOOST_AUTO_TEST_CASE(two_copies_into_the_same_pinned_memory_race) {
  float* x = device();
  float* out = pinned();
  launch_fill(x, 1, n, a);
  cudaDeviceSynchronize();
  cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, a);
  cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, b);
  expect_failure("pinned memory of device 0");
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_written_before_the_second_copy_has_read_it) {
  float* x = device();
  float* in = pinned(1);
  const cudaEvent_t once = event();
  std::atomic<bool> may_go_on = false;
  cudaMemcpyAsync(x, in, bytes, cudaMemcpyHostToDevice, a);
  cudaEventRecord(once, a);
  launch_call(
      [](void* flag) {
        while (!*static_cast<std::atomic<bool>*>(flag)) {
        }
      },
      &may_go_on, a);
  cudaMemcpyAsync(x, in, bytes, cudaMemcpyHostToDevice, a);
  cudaEventSynchronize(once);
  in[n / 2] = 2;
  may_go_on = true;
  cudaStreamSynchronize(a);
  expect_failure("the host wrote pinned memory");
}

BOOST_AUTO_TEST_CASE(pageable_memory_is_refused) {
  std::array<float, n> values{};
  CHECK_ERROR(cudaMemcpyAsync(device(), values.data(), bytes, cudaMemcpyHostToDevice, a),
              cudaErrorInvalidValue);
  expect_failure("pageable memory: cudaMemcpyAsync");
}

BOOST_AUTO_TEST_CASE(a_buffer_is_freed_while_in_use) {
  float* x = device();
  launch_fill(x, 1, n, a);
  cudaFree(x);
  forget(x);
  expect_failure("race: cudaFree (host) writes allocation");
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_freed_while_in_use) {
  float* x = device();
  float* in = pinned();
  cudaMemcpyAsync(x, in, bytes, cudaMemcpyHostToDevice, a);
  cudaFreeHost(in);
  forget(in);
  expect_failure("race: cudaFreeHost (host) writes allocation");
}

BOOST_AUTO_TEST_CASE(freed_memory_is_used) {
  float* x = device();
  cudaFree(x);
  forget(x);
  CHECK_ERROR(launch_fill(x, 1, n, a), cudaErrorInvalidValue);
  expect_failure("use of freed memory: stand_in_test_fill");
}

BOOST_AUTO_TEST_CASE(only_whole_allocations_of_the_kind_are_freed) {
  float* x = device();
  CHECK_ERROR(cudaFree(x + 1), cudaErrorInvalidValue);
  CHECK_ERROR(cudaFreeHost(x), cudaErrorInvalidValue);
  CHECK_ERROR(cudaFree(pinned()), cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_CASE(memory_is_freed_twice) {
  float* x = device();
  cudaFree(x);
  cudaFree(x);
  forget(x);
  expect_failure("use of freed memory: cudaFree");
}

BOOST_AUTO_TEST_CASE(a_copy_goes_beyond_the_end) {
  float* x = device();
  float* in = pinned();
  CHECK_ERROR(cudaMemcpyAsync(x + 1, in, bytes, cudaMemcpyHostToDevice, a), cudaErrorInvalidValue);
  expect_failure("out of bounds: cudaMemcpyAsync");
}

BOOST_AUTO_TEST_CASE(a_kernel_writes_beyond_the_end) {
  float* x = device();
  launch_overrun(x, n, a);
  cudaStreamSynchronize(a);
  cudaFree(x);
  forget(x);
  expect_failure("something wrote behind the end");
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_host_races_with_a_stream) {
  float* x = device();
  float value = 0;
  launch_fill(x, 1, n, a);
  cudaMemcpy(&value, x, sizeof value, cudaMemcpyDeviceToHost);
  expect_failure("race: cudaMemcpy (host) reads");
}

BOOST_AUTO_TEST_CASE(a_kernel_needs_peer_access_to_another_device) {
  float* x = device();
  cudaSetDevice(1);
  cudaStream_t c = stream();
  launch_fill(x, 1, n, c);
  expect_failure("without cudaDeviceEnablePeerAccess");
  int can = 0;
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, 1, 0));
  BOOST_CHECK_EQUAL(can, 1);
  CHECK_CUDA(cudaDeviceEnablePeerAccess(0, 0));
  CHECK_CUDA(launch_fill(x, 1, n, c));
  CHECK_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  cudaStreamSynchronize(c);
  cudaStreamDestroy(c);
  cudaSetDevice(0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
