// How long a placement takes if tensors wait for each other on links.
#pragma once

#include "core/machine/route.hpp"
#include "core/plan/placement_policy.hpp"
#include "core/plan/policies/op_positions.hpp"
#include "core/plan/policies/op_times.hpp"
#include "core/plan/replica_table.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// Plays a placement through, event by event. Of the ops that are ready, the streams of a device
// take those of the highest priority, as in the run. A tensor goes once to each memory that has a
// reader, from where it is on the way if it has been there. In each direction a link moves one
// tensor after the other, in the order in which their first chunks come; the chunks of a tensor
// follow each other over the links of its route. How much room memories have is not looked at.
//
// All memories must be on one island. For use by one thread; the request must outlive it.
class ContendedSchedule {
 public:
  // To bound the time, only so many of the request's first ops are looked at that these and their
  // inputs are at most `size_max`. What they read comes before them.
  ContendedSchedule(const PlacementRequest& request, std::size_t size_max);

  // The number of ops that are looked at.
  std::size_t size() const { return inputs_begin_.size() - 1; }
  // Whether a tensor must go to another memory if these are the ops' devices.
  bool moves_any(std::span<const DeviceId> devices);
  // When the last of the ops ends, in O(n log n) for n ops and inputs.
  Duration makespan(std::span<const DeviceId> devices);

 private:
  using Index = std::uint32_t;
  static constexpr Index none = OpPositions::outside;

  struct Tensor {
    OpId op;
    Index maker = none;  // position of the op that makes it
    MemoryId home;       // if no op here makes it
  };
  // An input that an op of the same window makes.
  struct Read {
    Index reader;
    Index tensor;
  };
  // A tensor in a memory other than its home, or on its way there.
  struct Copy {
    bool is_there = false;
    Index first_waiter = none;
  };
  struct Waiter {
    Index next;
    Index op;  // none: a transfer
    Index transfer;
  };
  struct Transfer {
    std::span<const Hop> hops;  // those that are left
    std::uint16_t chunks = 1;
    Index copy = none;  // that the next hop makes; those of the hops behind follow
    std::uint64_t bytes = 0;
    Duration last{0};  // when the last chunk is where the next hop begins
  };
  enum class Happens : std::uint8_t { end, arrival, hop, release };
  struct Event {
    Duration time;
    Happens what;
    Index index;  // of an op, a copy, a transfer or a device
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.time, a.what, a.index) > std::tie(b.time, b.what, b.index);
    }
  };
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  struct Streams {
    int free = 0;
    bool is_touched = false;
    Earliest<std::pair<std::int64_t, Index>> ready;  // ops, those of the highest priority first
  };

  std::span<const Index> inputs(std::size_t op) const {
    return {inputs_.data() + inputs_begin_[op], inputs_.data() + inputs_begin_[op + 1]};
  }
  Index tensor_of(OpId input);
  void find_reads();
  void settle(std::span<const DeviceId> devices);
  MemoryId home_of(const Tensor& tensor) const {
    return tensor.maker == none ? tensor.home : memory_[tensor.maker];
  }
  void look_up_ranks();
  Duration largest_load(std::size_t first, std::size_t last);
  void run_window(std::size_t first, std::size_t last);
  void handle(const Event& event);
  void give(Index tensor, Index reader);
  void wait_for(Index copy, Waiter waiter);
  Index send(const Tensor& tensor, MemoryId to, bool is_kept);
  std::span<const Hop> route(MemoryId from, MemoryId to);
  void move_on(Index transfer);
  void arrive(Index copy);
  void end(Index op);
  void count_down(Index op);
  void touch(DeviceId device);
  void start_ops();

  const PlacementRequest& r_;
  OpTimes times_;
  std::vector<std::size_t> window_ends_;
  std::vector<std::size_t> inputs_begin_;  // by op, and one more
  std::vector<Index> inputs_;              // numbers of tensors
  std::vector<Tensor> tensors_;
  std::unordered_map<OpId, Index> further_;  // numbers of tensors that aren't first outputs here
  std::vector<Index> first_output_;          // by op: the number of the tensor
  std::vector<std::size_t> reads_begin_;     // by op that makes the tensors, and one more
  std::vector<Read> reads_;
  std::unordered_map<std::uint64_t, Route> routes_;  // by the two memories

  // Of the placement that is played through.
  std::vector<DeviceId> device_;  // by op
  std::vector<MemoryId> memory_;  // by op
  std::vector<Duration> rank_;    // by op
  Duration load_{0};              // see priority_of(): of the window that is played through
  Duration now_{0};
  Duration end_{0};               // of the ops so far
  std::vector<Index> waits_for_;  // by op: inputs
  std::vector<Streams> streams_;  // by device
  std::vector<DeviceId> touched_;
  std::vector<Duration> link_free_;  // by link and direction
  ReplicaTable copies_at_;           // replicas are numbers of copies
  std::vector<Copy> copies_;
  std::vector<Waiter> waiters_;
  std::vector<Transfer> transfers_;
  Earliest<Event> events_;
};

}  // namespace troupe
