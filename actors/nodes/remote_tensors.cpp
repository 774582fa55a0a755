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

// The values of a tensor, in messages.
class Parts {
 public:
  explicit Parts(std::uint64_t all_bytes) : all_(all_bytes) {}

  std::size_t count() const { return (all_ + bytes_max - 1) / bytes_max; }
  std::uint64_t begin(std::size_t part) const { return part * bytes_max; }
  std::uint64_t bytes(std::size_t part) const { return std::min(bytes_max, all_ - begin(part)); }

 private:
  static constexpr std::uint64_t bytes_max = 1 << 20;

  const std::uint64_t all_;
};

// Of a question for digests: a node answers it in some milliseconds.
constexpr std::size_t digests_max = 1024;
constexpr std::uint64_t digested_bytes_max = 8 << 20;

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
  lists_.assign(nodes_.size(), {});
  digests_.clear();
  given_.assign(nodes_.size(), 0);
}

void RemoteTensors::find_result(const Plan& plan, ReplicaId result, bool is_kept,
                                std::span<const TensorType> types) {
  const ReplicaSpec& spec = plan.replicas[result.index()];
  const std::size_t node = machine_->memory(spec.memory).node.index();
  results_[result] = {node, types[spec.type].bytes(), is_kept, lists_[node].size()};
  lists_[node].push_back(result);
}

bool RemoteTensors::is_equal(ReplicaId result, bool, std::span<const std::byte> values) {
  if (!digests_.contains(result)) fetch_digests(result);
  return digests_.extract(result).mapped() == digest_of(values);
}

// And of the results that follow it in the node's list.
void RemoteTensors::fetch_digests(ReplicaId first) {
  const Place& place = results_.at(first);
  const std::vector<ReplicaId>& list = lists_[place.node];
  DigestsRequest request;
  std::uint64_t bytes = 0;
  for (std::size_t i = place.position; i < list.size() && request.results.size() < digests_max;
       ++i) {
    const Place& next = results_.at(list[i]);
    if (next.is_kept) bytes += next.bytes;
    if (bytes > digested_bytes_max && !request.results.empty()) break;
    request.results.push_back({list[i], next.is_kept});
  }
  const auto made = nodes_.ask<Digests>(place.node, request);
  if (made.digests.empty() || made.digests.size() > request.results.size()) {
    throw run_error(fmt::format("{} answered {} of {} questions", nodes_[place.node].label(),
                                made.digests.size(), request.results.size()));
  }
  for (std::size_t i = 0; i < made.digests.size(); ++i) {
    digests_[request.results[i].result] = made.digests[i];
  }
}

std::span<const std::byte> RemoteTensors::values(ReplicaId result) {
  const Place& place = results_.at(result);
  fetched_.resize(place.bytes);
  read(NodeId::at(place.node), result, fetched_);
  return fetched_;
}

void RemoteTensors::read(NodeId node, ReplicaId tensor, std::span<std::byte> out) {
  const Parts parts(out.size());
  nodes_.ask_in_turn<Values>(
      node.index(), parts.count(),
      [&](std::size_t i) {
        return ValuesRequest{.result = tensor, .offset = parts.begin(i), .bytes = parts.bytes(i)};
      },
      [&](std::size_t i, const Values& part) {
        if (part.bytes.size() != parts.bytes(i)) {
          throw run_error(fmt::format("{} sent {} of {} bytes of a tensor",
                                      nodes_[node.index()].label(), part.bytes.size(),
                                      parts.bytes(i)));
        }
        std::memcpy(out.data() + parts.begin(i), part.bytes.data(), part.bytes.size());
      });
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
  const Parts parts(values.size());
  const auto part = [&](std::size_t i) {
    const char* const bytes = reinterpret_cast<const char*>(values.data()) + parts.begin(i);
    return GiveValues{.run = run_,
                      .tensor = tensor,
                      .offset = parts.begin(i),
                      .bytes = {bytes, bytes + parts.bytes(i)}};
  };
  std::uint64_t& sent = given_[node.index()];
  sent += values.size();
  if (sent < given_bytes_max) {
    for (std::size_t i = 0; i < parts.count(); ++i) nodes_.tell(node.index(), part(i));
    return;
  }
  nodes_.ask_in_turn<Prepared>(node.index(), parts.count(), part, [](std::size_t, Prepared) {});
  sent = 0;
}

}  // namespace troupe
