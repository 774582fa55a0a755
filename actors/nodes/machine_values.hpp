// How CAF writes and reads machines, tensor types and errors.
#pragma once

#include "actors/inspect_id.hpp"
#include "core/base/error.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

template <class Inspector>
auto inspect(Inspector& f, SourcePlace& place) {
  return f(caf::meta::type_name("troupe::SourcePlace"), place.file, place.line, place.column);
}

// An Error as values: CAF needs a type that can be made without any.
class PackedError {
 public:
  PackedError() = default;
  explicit PackedError(const Error& error)
      : is_usage_(error.kind() == ErrorKind::usage),
        place_(error.place()),
        problem_(error.problem()),
        remedy_(error.remedy()) {}

  Error unpack() const {
    return Error(is_usage_ ? ErrorKind::usage : ErrorKind::failed, place_, problem_, remedy_);
  }

 private:
  template <class Inspector>
  friend auto inspect(Inspector& f, PackedError& error) {
    return f(caf::meta::type_name("troupe::PackedError"), error.is_usage_, error.place_,
             error.problem_, error.remedy_);
  }

  bool is_usage_ = false;
  SourcePlace place_;
  std::string problem_;
  std::string remedy_;
};

// Replaces `shape`. An error if there can be no such shape.
caf::error assign_extents(Shape& shape, std::span<const std::int64_t> extents);

template <class Inspector>
auto inspect(Inspector& f, Shape& shape) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < shape.rank(); ++d) extents.push_back(shape[d]);
  return f(caf::meta::type_name("troupe::Shape"), extents,
           caf::meta::load_callback([&] { return assign_extents(shape, extents); }));
}

template <class Inspector>
auto inspect(Inspector& f, TensorType& type) {
  return f(caf::meta::type_name("troupe::TensorType"), type.dtype, type.shape);
}

// Machines travel without the places in files where they are described.

template <class Inspector>
auto inspect(Inspector& f, Device& device) {
  // CAF writes lists, and no std::optional.
  const auto list = [](const std::optional<double>& rate) {
    return rate ? std::vector<double>{*rate} : std::vector<double>{};
  };
  const auto rate = [](const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional<double>(values.front());
  };
  std::vector<double> flops = list(device.flops);
  std::vector<double> bandwidth = list(device.bandwidth);
  return f(caf::meta::type_name("troupe::Device"), device.name, device.kind, device.memory,
           device.streams, device.issue_depth, device.gpu, device.tf32, device.cuda_graphs,
           device.launch, device.op_flops, flops, bandwidth, device.cores, device.node,
           caf::meta::load_callback([&]() -> caf::error {
             device.flops = rate(flops);
             device.bandwidth = rate(bandwidth);
             return caf::none;
           }));
}

template <class Inspector>
auto inspect(Inspector& f, Memory& memory) {
  return f(caf::meta::type_name("troupe::Memory"), memory.name, memory.kind, memory.size_bytes,
           memory.directory, memory.node);
}

template <class Inspector>
auto inspect(Inspector& f, Link& link) {
  return f(caf::meta::type_name("troupe::Link"), link.name, link.a, link.b, link.bandwidth[0],
           link.bandwidth[1], link.latency, link.sharing, link.chunk_bytes, link.node);
}

template <class Inspector>
auto inspect(Inspector& f, Machine& machine) {
  return f(caf::meta::type_name("troupe::Machine"), machine.name, machine.devices, machine.memories,
           machine.links, machine.nodes);
}

}  // namespace troupe
