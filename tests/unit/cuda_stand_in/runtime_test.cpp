// The runtime API of the stand-in: values, order, events, times.
#include "tests/unit/cuda_stand_in/stand_in_fixture.hpp"
#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_FIXTURE_TEST_SUITE(stand_in_runtime, StandInFixture)

BOOST_AUTO_TEST_CASE(a_kernel_computes_between_two_copies) {
  float* in = pinned(3);
  float* out = pinned();
  float* x = device();
  float* y = device();
  CHECK_CUDA(cudaMemcpyAsync(x, in, bytes, cudaMemcpyHostToDevice, a));
  CHECK_CUDA(launch_scale(x, y, 2, n, a));
  CHECK_CUDA(cudaMemcpyAsync(out, y, bytes, cudaMemcpyDeviceToHost, a));
  CHECK_CUDA(cudaStreamSynchronize(a));
  BOOST_CHECK(std::all_of(out, out + n, [](float v) { return v == 6; }));
}

BOOST_AUTO_TEST_CASE(kernels_of_several_types_are_found_by_their_names) {
  auto* x = reinterpret_cast<double*>(device(n * sizeof(double)));
  CHECK_CUDA(cudaMemsetAsync(x, 0, n * sizeof(double), a));
  CHECK_CUDA(launch_scale(x, x, 2.0, n, a));
  double value = 1;
  CHECK_CUDA(cudaStreamSynchronize(a));
  CHECK_CUDA(cudaMemcpy(&value, x + n - 1, sizeof value, cudaMemcpyDeviceToHost));
  BOOST_CHECK_EQUAL(value, 0);
}

BOOST_AUTO_TEST_CASE(fresh_memory_is_full_of_nans) {
  float value = 0;
  CHECK_CUDA(cudaMemcpy(&value, device(), sizeof value, cudaMemcpyDeviceToHost));
  BOOST_CHECK(std::isnan(value));
}

BOOST_AUTO_TEST_CASE(the_host_sees_nans_where_a_copy_is_going_to_write) {
  stand_in.set("delay_max_us", 0);
  const cudaEvent_t copied = event();
  float* out = pinned(7);
  float* x = device();
  std::atomic<bool> may_go_on = false;
  CHECK_CUDA(launch_call(
      [](void* flag) {
        while (!*static_cast<std::atomic<bool>*>(flag)) {
        }
      },
      &may_go_on, a));
  CHECK_CUDA(launch_fill(x, 1, n, a));
  CHECK_CUDA(cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, a));
  CHECK_CUDA(cudaEventRecord(copied, a));
  BOOST_CHECK(std::isnan(out[0]));
  CHECK_ERROR(cudaEventQuery(copied), cudaErrorNotReady);
  may_go_on = true;
  CHECK_CUDA(cudaStreamSynchronize(a));
  CHECK_CUDA(cudaEventQuery(copied));
  BOOST_CHECK_EQUAL(out[0], 1);
  stand_in.set("delay_max_us", 200);
}

BOOST_AUTO_TEST_CASE(an_event_orders_two_streams) {
  float* x = device();
  float* y = device();
  float* out = pinned();
  const cudaEvent_t filled = event();
  CHECK_CUDA(launch_fill(x, 5, n, a));
  CHECK_CUDA(cudaEventRecord(filled, a));
  CHECK_CUDA(cudaStreamWaitEvent(b, filled, 0));
  CHECK_CUDA(launch_scale(x, y, 3, n, b));
  CHECK_CUDA(cudaMemcpyAsync(out, y, bytes, cudaMemcpyDeviceToHost, b));
  CHECK_CUDA(cudaStreamSynchronize(b));
  BOOST_CHECK_EQUAL(out[n - 1], 15);
  CHECK_CUDA(cudaEventQuery(filled));
}

BOOST_AUTO_TEST_CASE(an_event_has_times_that_grow) {
  const cudaEvent_t begin = event();
  const cudaEvent_t end = event();
  float milliseconds = -1;
  CHECK_ERROR(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  float* x = device();
  const auto started = std::chrono::steady_clock::now();
  CHECK_CUDA(cudaEventRecord(begin, a));
  for (int i = 0; i < 100; ++i) CHECK_CUDA(launch_fill(x, 5, n, a));
  CHECK_CUDA(cudaEventRecord(end, a));
  CHECK_CUDA(cudaEventSynchronize(end));
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
  BOOST_CHECK_GT(milliseconds, 0.1F);
  // Nothing is finished before the device says that it was.
  const std::chrono::duration<float, std::milli> passed =
      std::chrono::steady_clock::now() - started;
  BOOST_CHECK_LE(milliseconds, passed.count());
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, begin, begin));
  BOOST_CHECK_EQUAL(milliseconds, 0);
}

// What isn't ordered happens in one order with some seeds and in the other order with others.
BOOST_AUTO_TEST_CASE(unordered_work_happens_in_both_orders) {
  struct Log {
    std::atomic<int> next = 0;
    int first_of_b = -1;
    int last_of_a = -1;
  } log;
  bool seen[2] = {false, false};
  for (int i = 0; i < 200 && !(seen[0] && seen[1]); ++i) {
    CHECK_CUDA(launch_call(
        [](void* l) { static_cast<Log*>(l)->last_of_a = static_cast<Log*>(l)->next++; }, &log, a));
    CHECK_CUDA(launch_call(
        [](void* l) { static_cast<Log*>(l)->first_of_b = static_cast<Log*>(l)->next++; }, &log, b));
    CHECK_CUDA(cudaDeviceSynchronize());
    seen[log.first_of_b < log.last_of_a ? 1 : 0] = true;
  }
  BOOST_CHECK(seen[0]);
  BOOST_CHECK(seen[1]);
}

BOOST_AUTO_TEST_CASE(freed_memory_is_free_again_at_once) {
  constexpr std::size_t mib = std::size_t{1} << 20U;
  stand_in.set("memory_mib", 5);
  std::size_t free = 0;
  std::size_t total = 0;
  for (int i = 0; i < 10; ++i) {
    void* x = nullptr;
    CHECK_CUDA(cudaMalloc(&x, 3 * mib));
    CHECK_CUDA(cudaMemGetInfo(&free, &total));
    BOOST_CHECK_EQUAL(free, 2 * mib);
    CHECK_CUDA(launch_fill(static_cast<float*>(x), 1, n, a));
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK_CUDA(cudaFree(x));
  }
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  BOOST_CHECK_EQUAL(free, total);
  void* too_large = nullptr;
  CHECK_ERROR(cudaMalloc(&too_large, total + 1), cudaErrorMemoryAllocation);
  stand_in.set("memory_mib", 512);
}

BOOST_AUTO_TEST_CASE(devices_have_memory_of_their_own) {
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  BOOST_CHECK_EQUAL(count, 2);
  float* x = device();
  CHECK_CUDA(cudaSetDevice(1));
  float* y = device();
  cudaStream_t c = stream();
  float* out = pinned();
  CHECK_CUDA(launch_fill(y, 4, n, c));
  CHECK_CUDA(cudaMemcpyPeerAsync(x, 0, y, 1, bytes, c));
  CHECK_CUDA(cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, c));
  CHECK_CUDA(cudaStreamSynchronize(c));
  BOOST_CHECK_EQUAL(out[0], 4);
  // A kernel can't be launched on a stream of another device than the current one.
  CHECK_ERROR(launch_fill(x, 4, n, a), cudaErrorInvalidResourceHandle);
  CHECK_CUDA(cudaFree(y));
  forget(y);
  CHECK_CUDA(cudaStreamDestroy(c));
  CHECK_CUDA(cudaSetDevice(0));
}

BOOST_AUTO_TEST_CASE(memory_of_the_program_can_be_registered) {
  std::vector<float> values(n, 9);
  float* x = device();
  float* out = pinned();
  CHECK_CUDA(cudaHostRegister(values.data(), bytes, cudaHostRegisterDefault));
  CHECK_ERROR(cudaHostRegister(values.data(), bytes, 0), cudaErrorHostMemoryAlreadyRegistered);
  CHECK_CUDA(cudaMemcpyAsync(x, values.data(), bytes, cudaMemcpyHostToDevice, a));
  CHECK_CUDA(cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, a));
  CHECK_CUDA(cudaStreamSynchronize(a));
  CHECK_CUDA(cudaHostUnregister(values.data()));
  BOOST_CHECK_EQUAL(out[5], 9);
}

BOOST_AUTO_TEST_CASE(properties_describe_a_gpu) {
  cudaDeviceProp properties{};
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 1));
  BOOST_CHECK_EQUAL(properties.name, "Stand-in for a GPU, 1");
  BOOST_CHECK_EQUAL(properties.totalGlobalMem, std::size_t{512} << 20U);
  char bus[16] = {};
  CHECK_CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
  BOOST_CHECK_EQUAL(bus, "FFFF:02:00.0");
  CHECK_ERROR(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
  BOOST_CHECK_EQUAL(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

BOOST_AUTO_TEST_CASE(a_launch_beyond_the_limits_fails) {
  CHECK_ERROR(launch_too_many_threads(device(), a), cudaErrorInvalidConfiguration);
}

// Each thread has a stream and buffers of its own, and looks at its events in another way.
BOOST_AUTO_TEST_CASE(threads_use_streams_of_their_own) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    float* x = device();
    float* out = pinned();
    const cudaEvent_t done = event();
    threads.emplace_back([=] {
      cudaStream_t own = nullptr;
      cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
      for (int i = 0; i < 100; ++i) {
        launch_fill(x, static_cast<float>(i), n, own);
        launch_scale(x, x, 2, n, own);
        cudaMemcpyAsync(out, x, bytes, cudaMemcpyDeviceToHost, own);
        cudaEventRecord(done, own);
        if (t % 2 == 0) cudaEventSynchronize(done);
        while (cudaEventQuery(done) != cudaSuccess) std::this_thread::yield();
        if (out[n - 1] != static_cast<float>(2 * i)) std::abort();
      }
      cudaStreamDestroy(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

BOOST_AUTO_TEST_CASE(a_lot_of_pinned_memory_comes_and_goes) {
  float* x = device();
  for (int i = 0; i < 2000; ++i) {
    void* made = nullptr;
    BOOST_REQUIRE_EQUAL(cudaMallocHost(&made, bytes), cudaSuccess);
    cudaMemcpyAsync(made, x, bytes, cudaMemcpyDeviceToHost, a);
    cudaStreamSynchronize(a);
    cudaFreeHost(made);
  }
}

BOOST_AUTO_TEST_CASE(waits_and_round_trips_are_counted) {
  float* x = device();
  float* y = device();
  CHECK_CUDA(cudaDeviceSynchronize());
  for (const char* count : {"host_waits", "round_trips", "launches"}) stand_in.set(count, 0);
  CHECK_CUDA(launch_fill(x, 1, n, a));
  CHECK_CUDA(launch_scale(x, y, 1, n, a));
  BOOST_CHECK_EQUAL(stand_in.get("round_trips"), 0);
  CHECK_CUDA(cudaStreamSynchronize(a));
  CHECK_CUDA(launch_scale(x, y, 1, n, b));  // only the host's wait orders it
  BOOST_CHECK_EQUAL(stand_in.get("host_waits"), 1);
  BOOST_CHECK_EQUAL(stand_in.get("round_trips"), 1);
  BOOST_CHECK_EQUAL(stand_in.get("launches"), 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
