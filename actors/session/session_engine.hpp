// Hands the calls of a session out to the actors, window by window, and frees what nobody reads.
#pragma once

#include "actors/execution.hpp"
#include "actors/session/sent_windows.hpp"
#include "actors/session/session_epoch.hpp"
#include "actors/session/session_tensors.hpp"
#include "actors/session/signatures.hpp"
#include "actors/session/tensor_state.hpp"
#include "actors/session/window_room.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// Calls that wait to be handed out, in their order. The engine takes them from the front.
struct CallLog {
  struct Call {
    TensorState* output = nullptr;
    const Signature* signature = nullptr;
    std::uint32_t line = 0;  // of the program that called: the session knows which
    std::uint32_t inputs = 0;
  };
  std::vector<Call> calls;
  std::vector<TensorState*> inputs;  // of all calls, one after the other
  std::uint64_t copied_bytes = 0;    // values that calls hold, of all that were put in

  std::size_t first = 0;  // calls before it were taken
  std::size_t first_input = 0;

  std::size_t size() const { return calls.size() - first; }
};

class Refuges;

// The tensors that callers have dropped, and the states that nothing refers to any more.
class TensorExchange {
 public:
  virtual ~TensorExchange() = default;
  // States whose uses have come to 0, linked by `next`.
  virtual TensorState* take_dropped() = 0;
  virtual void give_back(TensorState* tensor) = 0;
};

// A session's graph lives in epochs: before a new one begins, all that was handed out completes.
//
// For use by one thread at a time.
class SessionEngine {
 public:
  // `place_of` says where a line (see CallLog) is. `cluster`: the nodes that have the machine;
  // null: this process has it.
  SessionEngine(const Machine& machine, const OpRegistry& ops, Mode mode, std::uint64_t seed,
                std::function<void()> on_news, PlaceOfLine place_of, TensorExchange& exchange,
                Cluster* cluster);
  ~SessionEngine();

  // Hands out calls of the log, in windows of reasonable size. Waits for no window (for nodes, at
  // the end of an epoch and for large tensors that they are given): if windows in flight must
  // complete first, because a memory has no room or an epoch ends, leaves calls in the log, or
  // keeps a planned window. Must then be called again when a window has completed. Throws what the
  // planner throws, and a run Error if a memory is full and nothing is in flight, or a node is lost
  // or refuses.
  void hand_out(CallLog& log);
  // hand_out() has left calls in the log because each device has enough to do. It must be called
  // again in a while, whether a window has completed or not.
  bool has_enough() const { return has_enough_; }
  // hand_out() has left calls in the log because programs read what is in the way. It must be
  // called again when one of them has ended. Any thread may ask.
  bool awaits_readers() const { return awaits_readers_; }
  // Signatures get new numbers. The log that is handed out must be empty.
  void forget_signatures() { epoch_->forget_signatures(); }
  // Takes back the windows that have completed, and frees what was dropped.
  void retire();
  // Lets the actors act: until there is news, for about 50 ms at most.
  void proceed() { actors_.proceed(); }

  bool is_idle() const { return sent_.empty() && !planned_; }
  std::size_t windows() const { return sent_.size(); }
  // Ops and transfers that are handed out and not known to be done.
  std::uint64_t items_in_flight() const { return items_sent_ - actors_.items_done(); }
  // The run has ended early, or can't go on without the node that was lost.
  bool has_failed() const { return actors_.is_over() || has_lost_node(); }
  // Why. Only once.
  Error failure();
  // As those of Execution.
  bool has_lost_node() const { return execution_.has_lost_node(); }
  Error loss() const { return execution_.loss(); }
  // All calls up to this one have been sent to the actors.
  std::uint64_t handed_out() const { return handed_out_; }
  // All calls up to this one have been carried out.
  std::uint64_t completed() const {
    return sent_.empty() ? handed_out_ : sent_.front().calls_before;
  }
  // The unit that has to finish before the tensor, which was handed out, has been made. None: it
  // has been made.
  UnitId pending(const TensorState& tensor) const { return pending(tensor.copies.front()); }
  // A unit that has to finish before the device has carried out what it was given with the calls up
  // to `call`: the one that is likely to be the last. None: it has carried out all.
  UnitId pending(DeviceId device, std::uint64_t call) const {
    return sent_.unfinished(device, call);
  }
  // Calls on_news when this unit, which is pending, has finished.
  void watch(UnitId unit);

  const RunSetting& setting() const { return setting_; }
  bool has_values() const { return setting_.has_values(); }
  // As SessionTensors::buffer_to_give(). For any thread.
  std::shared_ptr<std::byte> buffer_to_give(MemoryId m, std::uint64_t bytes) const {
    return tensors_.buffer_to_give(m, bytes);
  }
  std::string_view mode_name() const { return setting_.name; }
  // The values of a tensor that has been made, where it is in RAM; they stay there as long as it is
  // in use and has readers. Else null.
  const std::byte* data(const TensorState& tensor) const;
  // Copies them to `out`, which must have the tensor's size. Blocks. Throws a run Error if its file
  // can't be read, or its node is lost.
  void read(const TensorState& tensor, std::span<std::byte> out) const;

  // Begin and end what is measured. Nothing may be in flight.
  void begin_measure();
  ScenarioReport end_measure(const std::string& name);
  // For the report, of all since the session began.
  std::vector<std::string> notes() const { return execution_.notes(); }
  void drop_measure() { summary_.reset(); }  // does nothing where none has begun

 private:
  // Planned, and waiting for room.
  struct Planned {
    PlannedWindow window;
    std::uint64_t calls = 0;
    OpId only;                      // of the call, if there is only one; further outputs aside
    TensorState* unused = nullptr;  // by the end of its calls
  };

  const Graph& graph() const { return epoch_->graph(); }
  const Plan& plan() const { return epoch_->planner().plan(); }
  void renew();
  bool begin_window();
  bool plan_window(CallLog& log, std::span<const Duration> busy);
  void plan_ops(OpRanges ops, std::span<const Duration> busy);
  bool has_room_for_given(const CallLog::Call& call) const;
  void free_unread(PlannedWindow& planned) const;
  void add_given(TensorState& tensor);
  Error no_room(MemoryId memory, std::uint64_t bytes, const std::string& what) const;
  bool send_planned();
  // All windows before it have completed.
  std::uint32_t first_window_in_flight() const {
    return sent_.empty() ? next_window_ : sent_.front().number;
  }
  void send(PlannedWindow planned);
  void release(TensorState* dropped);
  void hold(std::span<const PlannedWindow::Hold> holds, SentWindows::Entry& entry);
  void release_copies(TensorState& tensor);
  UnitId pending(const TensorState::Copy& copy) const;

  // In session_room.cpp.
  struct Move {
    TensorState* tensor;
    MemoryId target;
  };
  bool may_leave(const TensorState& tensor, std::span<TensorState* const> inputs);
  bool may_fit(std::span<TensorState* const> inputs);
  bool evict(std::span<TensorState* const> inputs, MemoryId from);
  bool find_moves(MemoryId from, std::uint64_t bytes, Refuges& refuges,
                  std::span<TensorState* const> inputs, std::vector<Move>& moves);
  std::vector<Move> find_moves(std::span<TensorState* const> inputs, MemoryId& full_on_the_way);
  void plan_moves(std::span<const Move> moves);
  std::vector<Placement> choices(const Signature& signature, std::span<TensorState* const> inputs);
  std::optional<Placement> make_room(const Signature& signature,
                                     std::span<TensorState* const> inputs);

  const Machine& machine_;
  const OpRegistry& ops_;
  const PlaceOfLine place_of_;
  TensorExchange& exchange_;
  Execution execution_;
  const RunSetting& setting_;
  SessionTensors tensors_;
  ActorRuntime& actors_;
  // In virtual time their work isn't counted: all calls before a wait are placed together.
  SentWindows sent_;
  std::optional<Planned> planned_;
  std::uint32_t next_window_ = 0;
  std::uint64_t items_sent_ = 0;
  std::uint64_t handed_out_ = 0;  // calls
  bool has_enough_ = false;
  std::uint64_t room_bytes_;  // what one window should make at most
  WindowRoom room_;
  std::size_t copied_ = 0;  // tensors of which there are several copies
  std::uint64_t uses_ = 0;  // of tensors, by calls
  std::atomic<bool> awaits_readers_ = false;

  std::unique_ptr<SessionEpoch> epoch_;
  std::unique_ptr<Summary> summary_;  // while something is measured
  std::optional<Instant> measured_since_;
};

}  // namespace troupe
