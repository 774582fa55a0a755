// A process that does one thing with CUDA and prints the errors: process_test.cpp looks at its end.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <cuda_runtime_api.h>

namespace {

bool succeeds(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  return error == cudaSuccess;
}

void work(std::string_view what) {
  int count = 0;
  if (!succeeds("count", cudaGetDeviceCount(&count)) || what == "count") return;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  if (!succeeds("stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))) return;
  if (!succeeds("memory", cudaMalloc(&memory, 1000))) {
    cudaStreamDestroy(stream);
    return;
  }
  cudaMemsetAsync(memory, 0, 1000, stream);
  if (what == "touch") {
    std::memset(memory, 0, 1000);
    std::puts("touched");
  }
  cudaStreamSynchronize(stream);
  if (what != "leak_memory") cudaFree(memory);
  if (what == "use_freed") cudaMemsetAsync(memory, 0, 1000, stream);
  if (what != "leak_stream") cudaStreamDestroy(stream);
}

}  // namespace

int main(int argc, char** argv) {
  work(argc > 1 ? argv[1] : "clean");
  return EXIT_SUCCESS;
}
