// The bytes, as FlatWriter puts them: the number of types, each type, the number of replicas of all
// nodes, an array of ReplicaRanges, and an array of the FlatReplicas of all ranges.
#include "actors/nodes/packed_replicas.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {
namespace {

// Replicas of the node with consecutive ids.
struct ReplicaRange {
  ReplicaId first;
  std::uint32_t count;
};

struct FlatReplica {
  MemoryId memory;
  std::uint32_t type;
  std::uint32_t readers;
  std::uint32_t flags;

  enum Flag : std::uint32_t { digest = 1, private_one = 2, adopted = 4 };
};

FlatReplica flat(const ReplicaSpec& spec, std::uint32_t type) {
  return {.memory = spec.memory,
          .type = type,
          .readers = spec.readers,
          .flags = (spec.leaves_digest ? std::uint32_t{FlatReplica::digest} : 0) |
                   (spec.is_private ? std::uint32_t{FlatReplica::private_one} : 0) |
                   (spec.is_adopted ? std::uint32_t{FlatReplica::adopted} : 0)};
}

ReplicaSpec spec_of(const FlatReplica& replica) {
  const auto has = [&](std::uint32_t flag) { return (replica.flags & flag) != 0; };
  return {.memory = replica.memory,
          .type = replica.type,
          .readers = replica.readers,
          .leaves_digest = has(FlatReplica::digest),
          .is_private = has(FlatReplica::private_one),
          .is_adopted = has(FlatReplica::adopted)};
}

class ReplicaPacker {
 public:
  ReplicaPacker(std::span<const ReplicaSpec> all, std::span<const TensorType> types,
                std::span<const std::uint64_t> at_once, const Machine& machine, NodeId node)
      : all_(all),
        types_(types),
        at_once_(at_once),
        machine_(machine),
        node_(node),
        numbers_(types.size(), 0) {
    find_ranges();
  }

  FlatBytes pack() {
    FlatWriter writer;
    put_types(writer);
    writer.put(std::uint64_t{all_.size()});
    writer.put_array<ReplicaRange>(ranges_);
    writer.put_each<FlatReplica>(count_, [&](const auto& add) {
      for (const ReplicaRange& range : ranges_) {
        for (const ReplicaSpec& spec : all_.subspan(range.first.index(), range.count)) {
          add(flat(spec, numbers_[spec.type]));
        }
      }
    });
    return std::move(writer).take();
  }

 private:
  void find_ranges() {
    for (std::size_t r = 0; r < all_.size(); ++r) {
      if (machine_.memory(all_[r].memory).node != node_) continue;
      const bool continues =
          !ranges_.empty() && ranges_.back().first.value + ranges_.back().count == r;
      if (!continues) ranges_.push_back({ReplicaId::at(r), 0});
      ++ranges_.back().count;
      ++count_;
      std::uint32_t& number = numbers_[all_[r].type];
      if (number != 0) continue;
      used_.push_back(all_[r].type);
      number = static_cast<std::uint32_t>(used_.size());
    }
  }
  void put_types(FlatWriter& writer) const {
    writer.put(std::uint64_t{used_.size()} + 1);
    put_type(writer, TensorType{});
    for (const std::uint32_t type : used_) put_type(writer, types_[type]);
    std::vector<std::uint64_t> at_once(used_.size() + 1, 0);
    for (std::size_t i = 0; i < used_.size(); ++i) at_once[i + 1] = at_once_[used_[i]];
    writer.put_array<std::uint64_t>(at_once);
  }

  std::span<const ReplicaSpec> all_;
  std::span<const TensorType> types_;
  std::span<const std::uint64_t> at_once_;
  const Machine& machine_;
  NodeId node_;
  std::vector<ReplicaRange> ranges_;
  std::size_t count_ = 0;               // replicas of the node
  std::vector<std::uint32_t> used_;     // types, in the order of their numbers, which begin with 1
  std::vector<std::uint32_t> numbers_;  // of the types; 0: not used
};

std::vector<TensorType> read_types(FlatReader& reader) {
  std::vector<TensorType> types;
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) types.push_back(get_type(reader));
  return types;
}

}  // namespace

PackedReplicas::PackedReplicas(std::span<const ReplicaSpec> all, std::span<const TensorType> types,
                               std::span<const std::uint64_t> at_once, const Machine& machine,
                               NodeId node)
    : bytes_(ReplicaPacker(all, types, at_once, machine, node).pack()) {}

std::vector<ReplicaSpec> PackedReplicas::unpack(MemoryId elsewhere, const Machine& machine) const {
  FlatReader reader(bytes_);
  const std::size_t types = read_types(reader).size();
  reader.get_array<std::uint64_t>();
  const auto total = reader.get<std::uint64_t>();
  const auto ranges = reader.get_array<ReplicaRange>();
  auto replicas = reader.get_array<FlatReplica>();
  reader.end();
  check_message(total <= ReplicaId::none_value);
  std::vector<ReplicaSpec> specs(total, ReplicaSpec{.memory = elsewhere});
  for (const ReplicaRange& range : ranges) {
    check_message(range.count <= replicas.size() && range.first.index() <= total &&
                  range.count <= total - range.first.index());
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const FlatReplica& replica = replicas[i];
      check_message(replica.type < types && replica.memory.index() < machine.memories.size());
      specs[range.first.index() + i] = spec_of(replica);
    }
    replicas = replicas.subspan(range.count);
  }
  check_message(replicas.empty());
  return specs;
}

std::vector<TensorType> PackedReplicas::types() const {
  FlatReader reader(bytes_);
  return read_types(reader);
}

std::vector<std::uint64_t> PackedReplicas::at_once() const {
  FlatReader reader(bytes_);
  const std::size_t types = read_types(reader).size();
  const std::span<const std::uint64_t> counts = reader.get_array<std::uint64_t>();
  check_message(counts.size() == types);
  return {counts.begin(), counts.end()};
}

}  // namespace troupe
