// libcudart: memory of devices, pinned memory of the host, copies.
#include "tests/support/cuda/stand_in/api.hpp"

#include <algorithm>
#include <cstring>
#include <string>

using namespace troupe::testing;

namespace {

// Reports a free of what is in use, and makes later uses failures. Then waits for the device, as
// the real functions do: a free of memory in use doesn't crash on a GPU, but it is a failure here.
void free_by_host(Engine& e, void* begin, MemoryKind kind, std::string_view what) {
  Allocation* allocation = e.memory.expect(begin, 1, what);
  require(allocation != nullptr);
  require(allocation->begin == begin && allocation->kind == kind);
  e.check_host_access(
      *allocation, {.begin = allocation->begin, .bytes = allocation->bytes, .writes = true}, what);
  const int device = allocation->device;
  e.memory.forget(*allocation, {.what = what});
  try {
    e.wait_for_device(device, what);
  } catch (const CudaFailure&) {
    e.memory.recycle(static_cast<const std::byte*>(begin));
    throw;
  }
  e.memory.recycle(static_cast<const std::byte*>(begin));
}

bool is_host(Engine& e, const void* address) {
  return !e.memory.is_device(address);
}

// A copy whose kind doesn't fit its pointers fails on a GPU too.
void check_kind(Engine& e, const void* to, const void* from, cudaMemcpyKind kind) {
  const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  require(kind == cudaMemcpyDefault || (is_host(e, from) == from_host && is_host(e, to) == to_host),
          cudaErrorInvalidMemcpyDirection);
}

std::uint64_t digest_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t digest = bytes;
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, bytes - at));
    digest = (digest ^ word) * 0x9e3779b97f4a7c15U;
    digest ^= digest >> 32U;
  }
  return digest;
}

void copy(Engine& e, void* to, const void* from, std::size_t bytes, cudaStream_t on,
          std::string_view what) {
  const auto stream = e.stream(on, what);
  if (bytes == 0) return;
  const Allocation* source = e.memory.expect(from, bytes, what);
  const Allocation* target = e.memory.expect(to, bytes, what);
  require(source != nullptr && target != nullptr);
  std::byte* read = e.memory.bytes_at(from);
  std::byte* written = e.memory.bytes_at(to);
  const Access reading{.begin = static_cast<const std::byte*>(from), .bytes = bytes, .reads = true};
  const Access writing{.begin = static_cast<const std::byte*>(to), .bytes = bytes, .writes = true};
  const auto is_idle = [&](const Allocation& place, const Access& access) {
    return place.kind != MemoryKind::device && !place.accesses.is_busy(access, e.host());
  };
  Work work{.what = what, .accesses = {reading, writing}, .run = [=] {
              std::memmove(written, read, bytes);
            }};
  // Nothing but this copy may use pinned memory until the host has waited: what the host writes too
  // late is found by a digest, what it reads too early are NaNs.
  if (is_idle(*source, reading)) {
    work.run = [=, &e, digest = digest_of(read, bytes)] {
      if (digest_of(read, bytes) != digest) {
        const std::lock_guard lock(e.mutex);
        e.control.fail("race: the host wrote pinned memory that " + std::string(what) +
                       " had not yet read");
      }
      std::memmove(written, read, bytes);
    };
  }
  const bool hides_target = is_idle(*target, writing);
  ++e.control.copies;
  e.enqueue(*stream, std::move(work));
  if (hides_target) std::memset(written, 0xff, bytes);
}

}  // namespace

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api([&](Engine& e) {
    *total = e.memory.capacity();
    *free = *total - std::min(*total, e.memory.used(current_device()));
  });
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return api([&](Engine& e) {
    *pointer = nullptr;
    if (bytes == 0) return;
    const Allocation* made = e.memory.allocate_device(current_device(), bytes);
    require(made != nullptr, cudaErrorMemoryAllocation);
    *pointer = const_cast<std::byte*>(made->begin);
  });
}

cudaError_t cudaFree(void* pointer) {
  return api(
      [&](Engine& e) {
        if (pointer != nullptr) free_by_host(e, pointer, MemoryKind::device, "cudaFree");
      },
      CallKind::release);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned /*flags*/) {
  return api([&](Engine& e) {
    *pointer = nullptr;
    if (bytes == 0) return;
    const Allocation* made = e.memory.allocate_pinned(current_device(), bytes);
    require(made != nullptr, cudaErrorMemoryAllocation);
    *pointer = const_cast<std::byte*>(made->begin);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return api(
      [&](Engine& e) {
        if (pointer != nullptr) free_by_host(e, pointer, MemoryKind::pinned, "cudaFreeHost");
      },
      CallKind::release);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned /*flags*/) {
  return api([&](Engine& e) {
    require(pointer != nullptr && bytes > 0 && is_host(e, pointer));
    const Allocation* made = e.memory.register_host(current_device(), pointer, bytes);
    require(made != nullptr, cudaErrorHostMemoryAlreadyRegistered);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api(
      [&](Engine& e) {
        const Allocation* found = e.memory.find(pointer);
        require(found != nullptr && found->kind == MemoryKind::registered,
                cudaErrorHostMemoryNotRegistered);
        free_by_host(e, pointer, MemoryKind::registered, "cudaHostUnregister");
      },
      CallKind::release);
}

// Ordered with nothing but the host: the streams of Troupe don't wait for the default stream.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api([&](Engine& e) {
    if (bytes == 0) return;
    check_kind(e, to, from, kind);
    for (const bool writes : {false, true}) {
      const void* begin = writes ? to : from;
      if (is_host(e, begin) && e.memory.find(begin) == nullptr) continue;  // pageable: allowed
      Allocation* place = e.memory.expect(begin, bytes, "cudaMemcpy");
      require(place != nullptr);
      e.check_host_access(*place,
                          {.begin = static_cast<const std::byte*>(begin),
                           .bytes = bytes,
                           .reads = !writes,
                           .writes = writes},
                          "cudaMemcpy");
    }
    ++e.control.copies;
    e.control.count_host_wait("cudaMemcpy", enqueues_work());
    std::memmove(e.memory.bytes_at(to), e.memory.bytes_at(from), bytes);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api([&](Engine& e) {
    check_kind(e, to, from, kind);
    copy(e, to, from, bytes, stream, "cudaMemcpyAsync");
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  return api([&](Engine& e) {
    for (const auto& [pointer, device] : {std::pair<const void*, int>{to, to_device},
                                          std::pair<const void*, int>{from, from_device}}) {
      require_device(e, device);
      e.throw_if_broken(device);
      const Allocation* place = e.memory.expect(pointer, bytes, "cudaMemcpyPeerAsync");
      require(place != nullptr);
      require(place->kind == MemoryKind::device && place->device == device);
    }
    copy(e, to, from, bytes, stream, "cudaMemcpyPeerAsync");
  });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t on) {
  return api([&](Engine& e) {
    const auto stream = e.stream(on, "cudaMemsetAsync");
    if (bytes == 0) return;
    const Allocation* place = e.memory.expect(pointer, bytes, "cudaMemsetAsync");
    require(place != nullptr);
    std::byte* at = e.memory.bytes_at(pointer);
    e.enqueue(*stream, {.what = "cudaMemsetAsync",
                        .accesses = {{.begin = static_cast<const std::byte*>(pointer),
                                      .bytes = bytes,
                                      .writes = true}},
                        .run = [=] { std::memset(at, value, bytes); }});
  });
}
