#include "actors/session/given_values.hpp"

#include "actors/session/device_scope.hpp"
#include "core/base/big_vector.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/files/data_file.hpp"
#include "core/machine/host_memory.hpp"
#include "core/ops/registry.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Of a GPU's memory: the host's memory that it has the fastest link to. None if it isn't a GPU's.
MemoryId host_beside(const Machine& machine, MemoryId memory) {
  MemoryId host;
  double best = 0;  // bytes per second
  if (owning_gpu(machine, memory) == nullptr) return host;
  for (const Link& link : machine.links) {
    if (link.a != memory && link.b != memory) continue;
    const bool is_forward = link.b == memory;
    const MemoryId other = is_forward ? link.a : link.b;
    const double bandwidth = link.bandwidth[is_forward ? 0 : 1];
    if (!is_host_ram(machine, other) || bandwidth <= best) continue;
    host = other;
    best = bandwidth;
  }
  return host;
}

// Where a tensor is made that the program gives. A GPU gets a copy of what the host has, by a
// transfer as any other.
struct GivenPlace {
  MemoryId wanted;
  MemoryId host;  // none: `wanted` is none of a GPU's

  explicit GivenPlace(const SessionCore& session)
      : wanted(memory_of_scope(session)), host(host_beside(session.machine(), wanted)) {}
  MemoryId first() const { return host ? host : wanted; }
};

Tensor give(SessionCore& session, const GivenPlace& place, TensorType type,
            std::shared_ptr<const std::byte> values, bool adopts, CallSite where,
            std::uint64_t copied_bytes = 0) {
  const Tensor given = session.call({.kind = session.given_kind(),
                                     .placement = {.memory = place.first()},
                                     .declared = type,
                                     .given = std::move(values),
                                     .adopts = adopts,
                                     .copied_bytes = copied_bytes},
                                    where);
  return place.host ? copy_to(session, *SessionCore::state_of(given), place.wanted, where) : given;
}

void check_count(std::size_t elements, const Shape& shape, CallSite where) {
  if (static_cast<std::int64_t>(elements) == shape.elements()) return;
  throw usage_error(where.place(),
                    fmt::format("{} elements for a tensor of shape {}", elements, to_string(shape)),
                    fmt::format("give {}", shape.elements()));
}

struct CopiedValues {
  std::shared_ptr<const std::byte> values;
  bool adopts = false;
};

// A copy: in a buffer for tensors if that has an advantage, else, if it is large, where it may
// stay.
template <class T>
CopiedValues copy_of(SessionCore& session, MemoryId memory, std::span<const T> elements) {
  const std::uint64_t bytes = elements.size_bytes();
  if (const auto buffer = session.buffer_to_give(memory, bytes)) {
    std::memcpy(buffer.get(), elements.data(), bytes);
    return {.values = buffer};
  }
  const auto copy = std::make_shared<BigVector<T>>(elements.begin(), elements.end());
  const void* const first = copy->empty() ? static_cast<const void*>(copy.get()) : copy->data();
  return {.values = {copy, static_cast<const std::byte*>(first)},
          .adopts = bytes >= BigAllocator<T>::huge_pages_min_bytes};
}

}  // namespace

Tensor copy_to(SessionCore& session, TensorState& tensor, MemoryId memory, CallSite where) {
  static const OpKindId copy = builtin_ops().find("copy");
  TensorState* const input = &tensor;
  return session.call({.kind = copy, .inputs = {&input, 1}, .placement = {.memory = memory}},
                      where);
}

template <class T>
Tensor copy_in(SessionCore& session, std::span<const T> elements, const Shape& shape, DType dtype,
               CallSite where) {
  check_count(elements.size(), shape, where);
  session.check_callable(where);
  if (!session.has_values()) elements = {};
  const GivenPlace place(session);
  CopiedValues copy;
  try {
    copy = copy_of(session, place.first(), elements);
  } catch (const std::bad_alloc&) {
    throw too_little_memory(elements.size_bytes(), where);
  } catch (const Error& error) {
    throw error.at(where.place());
  }
  return give(session, place, {.dtype = dtype, .shape = shape}, std::move(copy.values), copy.adopts,
              where, elements.size_bytes());
}

template <class T>
Tensor take_in(SessionCore& session, std::span<const T> elements, const Shape& shape, DType dtype,
               std::function<void()> deleter, CallSite where) {
  const auto delete_elements = [deleter = std::move(deleter)](const std::byte*) {
    if (deleter) deleter();
  };
  const std::shared_ptr<const std::byte> values(reinterpret_cast<const std::byte*>(elements.data()),
                                                delete_elements);
  check_count(elements.size(), shape, where);
  return give(session, GivenPlace(session), {.dtype = dtype, .shape = shape}, values, true, where);
}

Tensor load_from(SessionCore& session, const std::filesystem::path& file, std::string_view name,
                 CallSite where) {
  session.check_callable(where);
  const FileTensor stored = open_tensor(file, name, &session.last_header());
  const std::uint64_t bytes = stored.type.bytes();
  const GivenPlace place(session);
  const Memory& memory = session.machine().memory(place.wanted);
  if (memory.size_bytes > 0 && bytes > memory.size_bytes) {
    throw usage_error(
        {file.string()},
        fmt::format("{} has {}, memory '{}' {}", to_string(stored.type), format_bytes(bytes),
                    memory.name, format_bytes(memory.size_bytes)),
        "give a part of it");
  }
  if (!session.has_values()) {
    const auto unread = std::make_shared<std::byte>();
    return give(session, place, stored.type, {unread, unread.get()}, true, where);
  }
  // To ask takes as long as to read a MiB.
  constexpr std::uint64_t large = 16 << 20;
  const std::uint64_t usable = bytes < large ? large : host_memory().available_bytes;
  if (bytes > usable) {
    throw usage_error(
        {file.string()},
        fmt::format("{} takes {}, and {} of this host's memory are available",
                    to_string(stored.type), format_bytes(bytes), format_bytes(usable)),
        "give a part of it");
  }
  std::shared_ptr<const std::byte> values = stored.values->existing();
  if (values == nullptr) values = session.buffer_to_give(place.first(), bytes);
  if (values == nullptr) {
    try {
      const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
      values = {copy, copy.get()};
    } catch (const std::bad_alloc&) {
      throw too_little_memory(bytes, where);
    }
  }
  stored.values->read(0, {const_cast<std::byte*>(values.get()), bytes});
  return give(session, place, stored.type, std::move(values), true, where);
}

template Tensor copy_in(SessionCore&, std::span<const float>, const Shape&, DType, CallSite);
template Tensor take_in(SessionCore&, std::span<const float>, const Shape&, DType,
                        std::function<void()>, CallSite);
template Tensor copy_in(SessionCore&, std::span<const double>, const Shape&, DType, CallSite);
template Tensor take_in(SessionCore&, std::span<const double>, const Shape&, DType,
                        std::function<void()>, CallSite);
template Tensor copy_in(SessionCore&, std::span<const std::int32_t>, const Shape&, DType, CallSite);
template Tensor take_in(SessionCore&, std::span<const std::int32_t>, const Shape&, DType,
                        std::function<void()>, CallSite);
template Tensor copy_in(SessionCore&, std::span<const std::int64_t>, const Shape&, DType, CallSite);
template Tensor take_in(SessionCore&, std::span<const std::int64_t>, const Shape&, DType,
                        std::function<void()>, CallSite);

}  // namespace troupe
