#include "actors/nodes/remote_tensors.hpp"

#include "actors/nodes/node_protocol.hpp"
#include "core/base/error.hpp"
#include "core/memory/digest.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Of values that go in one message.
constexpr std::uint64_t values_bytes_max = 1 << 20;
// Of values that a node is sent before it has said that it has them.
constexpr std::uint64_t given_bytes_max = 8 << 20;

std::vector<ReplicaId> own(std::span<const TensorChanges::Of> all, std::size_t node) {
  std::vector<ReplicaId> found;
  for (const auto& [of, replica] : all) {
    if (of == NodeId::at(node)) found.push_back(replica);
  }
  return found;
}

}  // namespace

void RemoteTensors::begin_run(std::uint32_t number, const Machine& machine) {
  run_ = number;
  machine_ = &machine;
  results_.clear();
  given_.assign(nodes_.size(), 0);
}

void RemoteTensors::find_result(const Plan& plan, ReplicaId result,
                                std::span<const TensorType> types) {
  const ReplicaSpec& spec = plan.replicas[result.index()];
  results_[result] = {machine_->memory(spec.memory).node.index(), types[spec.type].bytes()};
}

bool RemoteTensors::is_equal(ReplicaId result, bool is_kept, std::span<const std::byte> values) {
  const DigestRequest request{.result = result, .is_kept = is_kept};
  return nodes_.ask<DigestIs>(results_.at(result).node, request).digest == digest_of(values);
}

std::span<const std::byte> RemoteTensors::values(ReplicaId result) {
  const Place& place = results_.at(result);
  fetched_.resize(place.bytes);
  read(NodeId::at(place.node), result, fetched_);
  return fetched_;
}

void RemoteTensors::read(NodeId node, ReplicaId tensor, std::span<std::byte> out) {
  for (std::uint64_t offset = 0; offset < out.size();) {
    const std::uint64_t bytes = std::min(values_bytes_max, out.size() - offset);
    const Values part = nodes_.ask<Values>(
        node.index(), ValuesRequest{.result = tensor, .offset = offset, .bytes = bytes});
    if (part.bytes.size() != bytes) {
      throw run_error(fmt::format("{} sent {} of {} bytes of a tensor",
                                  nodes_[node.index()].label(), part.bytes.size(), bytes));
    }
    std::memcpy(out.data() + offset, part.bytes.data(), bytes);
    offset += bytes;
  }
}

void RemoteTensors::change(const TensorChanges& changes, std::span<const ReplicaSpec> added,
                           std::span<const TensorType> types,
                           std::span<const std::uint64_t> at_once) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    ChangeTensors change{.run = run_,
                         .first_window = changes.first_window,
                         .read_again = own(changes.read_again, n),
                         .released = own(changes.released, n),
                         .added = PackedReplicas(added, types, at_once, *machine_, NodeId::at(n))};
    if (added.empty() && change.read_again.empty() && change.released.empty()) continue;
    nodes_.tell(n, std::move(change));
  }
}

void RemoteTensors::renumber(std::span<const TensorChanges::Of> released,
                             std::span<const ReplicaId> kept) {
  nodes_.ask_all<Prepared>([&](std::size_t n) {
    return RenumberTensors{
        .run = run_, .released = own(released, n), .kept = {kept.begin(), kept.end()}};
  });
}

void RemoteTensors::give(NodeId node, ReplicaId tensor, std::span<const std::byte> values) {
  const char* const bytes = reinterpret_cast<const char*>(values.data());
  std::uint64_t& sent = given_[node.index()];
  for (std::uint64_t offset = 0; offset < values.size(); offset += values_bytes_max) {
    const std::uint64_t end = std::min<std::uint64_t>(values.size(), offset + values_bytes_max);
    GiveValues part{.run = run_,
                    .tensor = tensor,
                    .total = values.size(),
                    .bytes = {bytes + offset, bytes + end}};
    sent += end - offset;
    if (sent < given_bytes_max) {
      nodes_.tell(node.index(), std::move(part));
    } else {
      nodes_.ask<Prepared>(node.index(), part);
      sent = 0;
    }
  }
}

}  // namespace troupe
