// The bytes of a PackedShare, as FlatWriter puts them:
//
//   ShareHead
//   number of attribute sets, and for each the kind of its ops and put_attrs()
//   arrays: kernels, moves, items with the sentinel, successors, inputs, elsewhere, first_arrival,
//   arrivals, first_items, late
#include "actors/nodes/packed_share.hpp"

#include "actors/nodes/packed_attrs.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint32_t no_attrs = 0xFFFF'FFFF;

struct ShareHead {
  std::uint32_t window;
  std::uint32_t flags;

  enum Flag : std::uint32_t { timed = 1 };
};

struct FlatKernel {
  Duration expected;
  OpKindId kind;
  std::uint32_t attrs;  // number of the set
  std::uint32_t flags;
  std::uint16_t further;
  std::uint16_t in_place_of;

  enum Flag : std::uint32_t { has_in_place_of = 1, adopts = 2, further_one = 4, plain = 8 };
};

struct FlatItem {
  UnitId unit;
  std::uint32_t waits_for;
  std::uint32_t first_input;
  std::uint32_t first_successor;
  std::uint32_t work;
  std::uint32_t index;
  std::uint32_t flags;

  enum Flag : std::uint32_t { late = 1, further = 2, frees_result = 4 };
};

struct FlatMove {
  std::uint64_t bytes;
  Duration latency;
  Duration wire;
  std::uint32_t chunks;
  std::uint32_t flags;

  enum Flag : std::uint32_t { backward = 1, paced = 2, paces = 4 };
};

std::uint32_t flag_if(bool is_set, std::uint32_t flag) {
  return is_set ? flag : 0;
}

// The attribute sets of a share's kernels. A set that several kernels point to is there once.
class AttrSets {
 public:
  explicit AttrSets(std::span<const Share::Kernel> kernels) {
    for (const Share::Kernel& kernel : kernels) {
      const auto next = static_cast<std::uint32_t>(sets_.size());
      if (kernel.attrs == nullptr || !numbers_.emplace(key(kernel), next).second) continue;
      sets_.push_back(&kernel);
    }
  }

  void put(FlatWriter& writer) const {
    writer.put(std::uint64_t{sets_.size()});
    for (const Share::Kernel* kernel : sets_) {
      writer.put(kernel->kind);
      put_attrs(writer, *kernel->attrs);
    }
  }
  std::uint32_t number(const Share::Kernel& kernel) const {
    return kernel.attrs == nullptr ? no_attrs : numbers_.find(key(kernel))->second;
  }

 private:
  using Key = std::pair<OpKindId, const Attrs*>;
  static Key key(const Share::Kernel& kernel) { return {kernel.kind, kernel.attrs}; }

  std::vector<const Share::Kernel*> sets_;  // the first kernel of each
  std::map<Key, std::uint32_t> numbers_;
};

FlatKernel flat(const Share::Kernel& kernel, std::uint32_t attrs) {
  return {.expected = kernel.expected,
          .kind = kernel.kind,
          .attrs = attrs,
          .flags = flag_if(kernel.in_place_of.has_value(), FlatKernel::has_in_place_of) |
                   flag_if(kernel.adopts, FlatKernel::adopts) |
                   flag_if(kernel.is_further, FlatKernel::further_one) |
                   flag_if(kernel.is_plain, FlatKernel::plain),
          .further = kernel.further,
          .in_place_of = kernel.in_place_of.value_or(0)};
}

Share::Kernel kernel_of(const FlatKernel& kernel, const Attrs* attrs) {
  const auto has = [&](std::uint32_t flag) { return (kernel.flags & flag) != 0; };
  Share::Kernel made{.kind = kernel.kind,
                     .attrs = attrs,
                     .expected = kernel.expected,
                     .adopts = has(FlatKernel::adopts),
                     .further = kernel.further,
                     .is_further = has(FlatKernel::further_one),
                     .is_plain = has(FlatKernel::plain)};
  if (has(FlatKernel::has_in_place_of)) {
    made.in_place_of = static_cast<std::uint8_t>(kernel.in_place_of);
  }
  return made;
}

void put_kernels(FlatWriter& writer, const Share& share) {
  const AttrSets sets(share.kernels);
  sets.put(writer);
  writer.put_each<FlatKernel>(share.kernels.size(), [&](const auto& add) {
    for (const Share::Kernel& kernel : share.kernels) add(flat(kernel, sets.number(kernel)));
  });
}

void put_moves(FlatWriter& writer, const Share& share) {
  writer.put_each<FlatMove>(share.moves.size(), [&](const auto& add) {
    for (const Share::Move& move : share.moves) {
      add({.bytes = move.bytes,
           .latency = move.expected.latency,
           .wire = move.expected.wire,
           .chunks = move.chunks,
           .flags = flag_if(move.direction == Direction::backward, FlatMove::backward) |
                    flag_if(move.paced, FlatMove::paced) | flag_if(move.paces, FlatMove::paces)});
    }
  });
}

void put_items(FlatWriter& writer, const Share& share) {
  writer.put_each<FlatItem>(share.items.size(), [&](const auto& add) {
    for (const Share::Item& item : share.items) {
      add({.unit = item.unit,
           .waits_for = item.waits_for,
           .first_input = item.first_input,
           .first_successor = item.first_successor,
           .work = item.work,
           .index = item.index,
           .flags = flag_if(item.has_late, FlatItem::late) |
                    flag_if(item.is_further, FlatItem::further) |
                    flag_if(item.frees_result, FlatItem::frees_result)});
    }
  });
}

// The memory of a packed share, not counting kernels and moves.
std::size_t room_for(const Share& share) {
  return share.items.size() * sizeof(FlatItem) + share.successors.size() * sizeof(std::uint32_t) +
         share.inputs.size() * sizeof(ReplicaId) + share.elsewhere.size() * sizeof(ItemRef) +
         (share.first_arrival.size() + share.arrivals.size() + share.first_items.size()) *
             sizeof(std::uint32_t) +
         share.late.size() * sizeof(Share::LateEdge);
}

template <class Vector>
void read_array(FlatReader& reader, Vector& vector) {
  const auto values = reader.get_array<typename Vector::value_type>();
  vector.assign(values.begin(), values.end());
}

std::vector<const Attrs*> read_attr_sets(FlatReader& reader, const OpRegistry& ops,
                                         std::deque<Attrs>& attrs, OpenFiles& files) {
  std::vector<const Attrs*> sets;
  const auto count = reader.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto kind = reader.get<OpKindId>();
    check_message(kind.index() < ops.size());
    const Attrs given = get_attrs(reader, files);
    try {
      sets.push_back(&attrs.emplace_back(complete_attrs(ops[kind], given)));
    } catch (const Error& error) {
      throw run_error(error.problem(), error.remedy());
    }
  }
  return sets;
}

void read_kernels(FlatReader& reader, const OpRegistry& ops, std::deque<Attrs>& attrs,
                  OpenFiles& files, Share& share) {
  const std::vector<const Attrs*> sets = read_attr_sets(reader, ops, attrs, files);
  for (const FlatKernel& kernel : reader.get_array<FlatKernel>()) {
    check_message(kernel.attrs == no_attrs ||
                  (kernel.attrs < sets.size() && kernel.kind.index() < ops.size()));
    share.kernels.push_back(
        kernel_of(kernel, kernel.attrs == no_attrs ? nullptr : sets[kernel.attrs]));
  }
}

void read_moves(FlatReader& reader, Share& share) {
  for (const FlatMove& move : reader.get_array<FlatMove>()) {
    const auto has = [&](std::uint32_t flag) { return (move.flags & flag) != 0; };
    share.moves.push_back(
        {.bytes = move.bytes,
         .expected = {.latency = move.latency, .wire = move.wire},
         .chunks = static_cast<std::uint16_t>(move.chunks),
         .direction = has(FlatMove::backward) ? Direction::backward : Direction::forward,
         .paced = has(FlatMove::paced),
         .paces = has(FlatMove::paces)});
  }
}

void read_items(FlatReader& reader, Share& share) {
  const std::span<const FlatItem> items = reader.get_array<FlatItem>();
  share.items.clear();
  share.items.reserve(items.size());
  const bool is_link = !share.moves.empty();
  const std::size_t works = is_link ? share.moves.size() : share.kernels.size();
  std::uint32_t input = 0;
  std::uint32_t successor = 0;
  bool is_sound = true;
  for (const FlatItem& item : items) {
    is_sound &= item.first_input >= input && item.first_successor >= successor;
    is_sound &= item.work < std::max<std::size_t>(works, 1);  // the sentinel's is 0
    input = item.first_input;
    successor = item.first_successor;
    Share::Item& made = share.items.emplace_back();
    made.unit = item.unit;
    made.waits_for = item.waits_for;
    made.first_input = item.first_input;
    made.first_successor = item.first_successor;
    made.work = item.work;
    made.index = item.index;
    made.has_late = (item.flags & FlatItem::late) != 0;
    made.is_further = (item.flags & FlatItem::further) != 0;
    made.frees_result = (item.flags & FlatItem::frees_result) != 0;
  }
  check_message(is_sound && !items.empty());
  if (is_link) share.chunks.resize(share.size());
}

template <class Range>
bool are_below(const Range& indices, std::size_t end) {
  return std::all_of(indices.begin(), indices.end(),
                     [end](std::uint32_t index) { return index < end; });
}

// The rest was checked when items were read.
bool has_sound_items(const Share& share) {
  const auto begins = [](const Share::Item& item) {
    return item.first_input == 0 && item.first_successor == 0;
  };
  return begins(share.items.front()) && share.items.back().first_input == share.inputs.size() &&
         share.items.back().first_successor == share.successors.size() &&
         (share.size() == 0 || share.kernels.empty() == !share.moves.empty());
}

bool has_sound_arrivals(const Share& share) {
  const std::vector<std::uint32_t>& first = share.first_arrival;
  return !first.empty() && first.front() == 0 && first.back() == share.arrivals.size() &&
         std::is_sorted(first.begin(), first.end()) && are_below(share.arrivals, share.size());
}

bool has_sound_successors(const Share& share) {
  bool is_sound = true;
  for (const Share::Successor next : share.successors) {
    is_sound &= next.place() < (next.is_elsewhere() ? share.elsewhere.size() : share.size());
  }
  return is_sound && are_below(share.first_items, share.size());
}

bool has_sound_moves(const Share& share) {
  if (!share.is_transfer()) return true;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    const Share::Move& move = share.move(i);
    if (move.chunks == 0 || share.inputs_of(i).size() != 1) return false;
    if (move.paces && share.successors_of(i).empty()) return false;
  }
  return true;
}

// What an actor uses as an index must be one.
void check_share(const Share& share, const OpRegistry& ops) {
  check_message(has_sound_items(share) && has_sound_successors(share) &&
                has_sound_arrivals(share) && has_sound_moves(share));
  for (const Share::Kernel& kernel : share.kernels) {
    check_message(!kernel.adopts ||
                  (kernel.attrs != nullptr && ops[kernel.kind].existing != nullptr));
  }
}

}  // namespace

PackedShare::PackedShare(const Share& share) {
  FlatWriter writer;
  writer.reserve(room_for(share) + 4096);
  writer.put(ShareHead{.window = share.window, .flags = flag_if(share.timed, ShareHead::timed)});
  put_kernels(writer, share);
  put_moves(writer, share);
  put_items(writer, share);
  writer.put_array<Share::Successor>(share.successors);
  writer.put_array<ReplicaId>(share.inputs);
  writer.put_array<ItemRef>(share.elsewhere);
  writer.put_array<std::uint32_t>(share.first_arrival);
  writer.put_array<std::uint32_t>(share.arrivals);
  writer.put_array<std::uint32_t>(share.first_items);
  writer.put_array<Share::LateEdge>(share.late);
  bytes_ = std::move(writer).take();
}

Share PackedShare::unpack(const OpRegistry& ops, std::deque<Attrs>& attrs, OpenFiles& files) const {
  FlatReader reader(bytes_);
  Share share;
  const ShareHead head = reader.get<ShareHead>();
  share.window = head.window;
  share.timed = (head.flags & ShareHead::timed) != 0;
  read_kernels(reader, ops, attrs, files, share);
  read_moves(reader, share);
  read_items(reader, share);
  read_array(reader, share.successors);
  read_array(reader, share.inputs);
  read_array(reader, share.elsewhere);
  read_array(reader, share.first_arrival);
  read_array(reader, share.arrivals);
  read_array(reader, share.first_items);
  read_array(reader, share.late);
  reader.end();
  check_share(share, ops);
  return share;
}

}  // namespace troupe
