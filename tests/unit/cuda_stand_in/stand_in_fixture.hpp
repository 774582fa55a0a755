// What tests of the stand-in have in common: two streams, buffers, and what the stand-in reported.
#pragma once

#include "tests/support/cuda/stand_in_control.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <cuda_runtime_api.h>

#define CHECK_CUDA(call) BOOST_CHECK_EQUAL(std::string(cudaGetErrorName(call)), "cudaSuccess")
#define CHECK_ERROR(call, error) \
  BOOST_CHECK_EQUAL(std::string(cudaGetErrorName(call)), std::string(#error))

namespace troupe::testing {

// Checks after each test that nothing was reported that the test hasn't taken, and nothing leaked.
struct StandInFixture {
  static constexpr std::size_t n = 1000;
  static constexpr std::size_t bytes = n * sizeof(float);

  const StandIn& stand_in = found();
  cudaStream_t a = stream();
  cudaStream_t b = stream();
  std::vector<cudaEvent_t> events;
  std::vector<float*> device_buffers;
  std::vector<float*> pinned_buffers;

  StandInFixture() { stand_in.set("unreported", 1); }

  ~StandInFixture() {
    stand_in.restore_devices();
    cudaSetDevice(0);
    cudaDeviceSynchronize();
    free_everything();
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    stand_in.check_leaks();
    BOOST_CHECK_EQUAL(failures(), "");
    cudaGetLastError();
  }
  StandInFixture(const StandInFixture&) = delete;
  StandInFixture& operator=(const StandInFixture&) = delete;

  static const StandIn& found() {
    const StandIn* stand_in = StandIn::find();
    BOOST_REQUIRE(stand_in != nullptr);
    return *stand_in;
  }
  static cudaStream_t stream() {
    cudaStream_t made = nullptr;
    CHECK_CUDA(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }
  cudaEvent_t event() {
    CHECK_CUDA(cudaEventCreateWithFlags(&events.emplace_back(), cudaEventDefault));
    return events.back();
  }
  float* device(std::size_t size = bytes) {
    void* made = nullptr;
    CHECK_CUDA(cudaMalloc(&made, size));
    return device_buffers.emplace_back(static_cast<float*>(made));
  }
  float* pinned(float value = 0) {
    void* made = nullptr;
    CHECK_CUDA(cudaHostAlloc(&made, bytes, cudaHostAllocDefault));
    float* values = pinned_buffers.emplace_back(static_cast<float*>(made));
    std::fill_n(values, n, value);
    return values;
  }
  void free_everything() {
    for (const cudaEvent_t event : events) cudaEventDestroy(event);
    for (float* buffer : device_buffers) cudaFree(buffer);
    for (float* buffer : pinned_buffers) cudaFreeHost(buffer);
    events.clear();
    device_buffers.clear();
    pinned_buffers.clear();
  }
  void forget(float* buffer) {
    std::erase(device_buffers, buffer);
    std::erase(pinned_buffers, buffer);
  }

  // Returns what was reported since the last call, a line each.
  std::string failures() const {
    std::string text(1 << 16U, '\0');
    stand_in.take_failures(text.data(), text.size());
    return text.c_str();
  }
  // Checks that exactly one failure was reported, which contains `words`.
  void expect_failure(const std::string& words) const {
    const auto count = stand_in.get("failures");
    const std::string text = failures();
    BOOST_CHECK_MESSAGE(count == 1 && text.find(words) != std::string::npos,
                        "expected one failure with \"" << words << "\", got: " << text);
  }
};

}  // namespace troupe::testing
