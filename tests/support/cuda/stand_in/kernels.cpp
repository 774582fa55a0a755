#include "tests/support/cuda/stand_in/kernels.hpp"

#include "tests/support/cuda/stand_in/api.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <cxxabi.h>

namespace troupe::testing {

namespace {

struct Registered {
  CUkern_st* kernel = nullptr;
  const void* binary = nullptr;
};

struct Registry {
  std::mutex mutex;
  std::map<const void*, Registered> by_stub;
  std::map<std::string, std::unique_ptr<CUkern_st>> by_name;  // kernels may be in several binaries
};

Registry& registry() {
  static Registry* const only = std::make_unique<Registry>().release();
  return *only;
}

std::string demangled(const char* mangled) {
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), &std::free);
  return text != nullptr ? text.get() : mangled;
}

// Returns null, and reports the kernel, if it has no body. A program under test may define
// find_kernel_body() itself, and export it: then its bodies count.
const KernelBody* body_of(CUkern_st& kernel, Control& control) {
  if (kernel.body == nullptr) {
    kernel.body = find_kernel_body(kernel.mangled);
  }
  if (kernel.body == nullptr) {
    control.fail("unknown kernel: no body on the CPU for " + kernel.readable + ", " +
                 kernel.mangled);
  }
  return kernel.body;
}

// The limits of all GPUs that CUDA 13 supports.
void check_launch(dim3 grid, dim3 block, std::size_t shared_bytes) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  require(threads >= 1 && threads <= 1024 && block.z <= 64, cudaErrorInvalidConfiguration);
  require(grid.x >= 1 && grid.x <= 0x7fffffffU && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 &&
              grid.z <= 65535,
          cudaErrorInvalidConfiguration);
  require(shared_bytes <= std::size_t{48} << 10U);
}

// The access that a kernel may make through a pointer. Adds nothing for null.
void add_access(Engine& engine, const KernelParameter& parameter, const std::byte* pointer,
                int device, std::string_view what, std::vector<Access>& accesses) {
  if (pointer == nullptr) return;
  const Allocation& place = engine.reachable(device, pointer, 1, what);
  const bool reads = parameter.is_const_pointee;
  const bool is_whole = place.kind == MemoryKind::device;
  accesses.push_back({.begin = is_whole ? place.begin : pointer,
                      .bytes = is_whole ? place.bytes : 4,
                      .reads = reads,
                      .writes = !reads,
                      .is_whole = is_whole});
}

}  // namespace

void register_kernel(const void* stub, const char* mangled, const void* binary) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  auto& kernel = all.by_name[mangled];
  if (kernel == nullptr) {
    kernel = std::make_unique<CUkern_st>();
    kernel->mangled = mangled;
    kernel->readable = demangled(mangled);
  }
  all.by_stub[stub] = {kernel.get(), binary};
}

void unregister_kernels(const void* binary) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.by_stub, [binary](const auto& e) { return e.second.binary == binary; });
}

CUkern_st* find_kernel(const void* function) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_stub.find(function); found != all.by_stub.end()) {
    return found->second.kernel;
  }
  for (const auto& [name, kernel] : all.by_name) {
    if (kernel.get() == function) return kernel.get();
  }
  return nullptr;
}

void check_kernels(Control& control) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& [name, kernel] : all.by_name) body_of(*kernel, control);
}

Work kernel_work(Engine& engine, int device, const void* function, dim3 grid, dim3 block,
                 void** args, std::size_t shared_bytes) {
  require_kernel_image(engine, device);
  CUkern_st* kernel = find_kernel(function);
  require(kernel != nullptr, cudaErrorInvalidDeviceFunction);
  check_launch(grid, block, shared_bytes);
  const KernelBody* body = body_of(*kernel, engine.control);
  require(body != nullptr, cudaErrorInvalidDeviceFunction);

  Work work{.what = kernel->readable, .is_kernel = true};
  std::vector<std::vector<std::byte>> values;
  for (std::size_t i = 0; i < body->parameters.size(); ++i) {
    const KernelParameter& parameter = body->parameters[i];
    auto* from = static_cast<const std::byte*>(args[i]);
    if (!parameter.is_pointer) {
      values.emplace_back(from, from + parameter.bytes);
      continue;
    }
    const std::byte* pointer = nullptr;
    std::memcpy(&pointer, from, sizeof pointer);
    add_access(engine, parameter, pointer, device, work.what, work.accesses);
    const std::byte* bytes = engine.memory.bytes_at(pointer);
    values.emplace_back(sizeof bytes);
    std::memcpy(values.back().data(), &bytes, sizeof bytes);
  }
  work.run = [=, values = std::move(values)]() mutable {
    std::vector<void*> arguments;
    for (auto& value : values) arguments.push_back(value.data());
    body->run({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes,
              arguments.data());
  };
  return work;
}

void launch(Engine& engine, const void* function, dim3 grid, dim3 block, void** args,
            std::size_t shared_bytes, cudaStream_t on) {
  const auto stream = engine.stream(on, "a kernel's launch");
  require(stream->device == current_device(), cudaErrorInvalidResourceHandle);
  Work work = kernel_work(engine, stream->device, function, grid, block, args, shared_bytes);
  ++engine.control.launches;
  engine.enqueue(*stream, std::move(work));
}

}  // namespace troupe::testing
