// What the stand-in injects, and what calls return then.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <atomic>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_injections, StandInFixture)

BOOST_AUTO_TEST_CASE(the_third_allocation_fails) {
  stand_in.set("out_of_memory_at", 3);
  device();
  pinned();
  void* made = nullptr;
  CHECK_ERROR(cudaMalloc(&made, bytes), cudaErrorMemoryAllocation);
  BOOST_CHECK(made == nullptr);
  CHECK_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
  CHECK_CUDA(cudaGetLastError());
  device();
}

BOOST_AUTO_TEST_CASE(a_sticky_error_stays_until_the_devices_are_restored) {
  float* x = device();
  stand_in.set("sticky_error_at", 2);
  CHECK_CUDA(launch_fill(x, 1, n, a));  // cudaGetLastError isn't counted
  CHECK_ERROR(launch_fill(x, 1, n, a), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaStreamSynchronize(a), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
  CHECK_ERROR(cudaStreamDestroy(a), cudaErrorIllegalAddress);
  stand_in.restore_devices();
  a = stream();
  CHECK_CUDA(cudaStreamSynchronize(a));
}

BOOST_AUTO_TEST_CASE(a_kernel_faults_while_the_host_waits) {
  float* x = device();
  stand_in.set("kernel_fault_at", 5);
  for (int i = 0; i < 5; ++i) launch_fill(x, 1, n, a);
  std::atomic<bool> has_run = false;
  launch_call([](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &has_run, a);
  CHECK_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  BOOST_CHECK(!has_run);
}

BOOST_AUTO_TEST_CASE(the_other_device_works_when_one_is_lost) {
  CHECK_CUDA(cudaSetDevice(1));
  cudaStream_t c = stream();
  CHECK_CUDA(cudaSetDevice(0));
  float* x = device();
  for (int i = 0; i < 5; ++i) launch_fill(x, 1, n, a);
  stand_in.set("device_lost_at", 1);
  CHECK_ERROR(cudaStreamSynchronize(a), cudaErrorDevicesUnavailable);
  CHECK_ERROR(cudaMemcpyAsync(x, x, bytes, cudaMemcpyDeviceToDevice, a),
              cudaErrorDevicesUnavailable);
  CHECK_ERROR(cudaSetDevice(0), cudaErrorDevicesUnavailable);
  CHECK_CUDA(cudaSetDevice(1));
  CHECK_CUDA(cudaStreamSynchronize(c));
  CHECK_ERROR(cudaStreamSynchronize(a), cudaErrorDevicesUnavailable);
  CHECK_CUDA(cudaStreamDestroy(c));
}

BOOST_AUTO_TEST_CASE(a_driver_is_missing_or_too_old) {
  int count = -1;
  for (const int version : {0, 12080}) {
    stand_in.set("driver_version", version);
    int found = -1;
    CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    CHECK_CUDA(cudaDriverGetVersion(&found));
    BOOST_CHECK_EQUAL(found, version);
    BOOST_CHECK_EQUAL(count, 0);
  }
  stand_in.set("driver_version", 13000);
  CHECK_CUDA(cudaGetDeviceCount(&count));
}

BOOST_AUTO_TEST_CASE(there_may_be_no_device) {
  int count = -1;
  stand_in.set("devices", 0);
  CHECK_ERROR(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  stand_in.set("devices", 3);
  CHECK_CUDA(cudaGetDeviceCount(&count));
  BOOST_CHECK_EQUAL(count, 3);
  stand_in.set("devices", 2);
}

BOOST_AUTO_TEST_CASE(there_may_be_no_kernel_image) {
  stand_in.set("no_kernel_image", 1);
  CHECK_ERROR(launch_fill(device(), 1, n, a), cudaErrorNoKernelImageForDevice);
}

BOOST_AUTO_TEST_CASE(peer_access_may_be_refused) {
  stand_in.set("no_peer_access", 1);
  int can = -1;
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  BOOST_CHECK_EQUAL(can, 0);
  CHECK_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
