// Hands the calls of a session out to the actors, window by window, and frees what nobody reads.
#pragma once

#include "actors/actor_runtime.hpp"
#include "actors/run_setting.hpp"
#include "actors/signatures.hpp"
#include "actors/tensor_state.hpp"
#include "core/backend/memory_store.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "core/trace/report.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// Calls that wait to be handed out, in their order.
struct CallLog {
  struct Call {
    TensorState* output = nullptr;
    const Signature* signature = nullptr;
    std::uint32_t line = 0;  // of the program that called: the session knows which
    std::uint32_t inputs = 0;
  };
  std::vector<Call> calls;
  std::vector<TensorState*> inputs;  // of all calls, one after the other

  std::size_t size() const { return calls.size(); }
};

// The tensors that callers have dropped, and the states that nothing refers to any more.
class TensorExchange {
 public:
  virtual ~TensorExchange() = default;
  // States whose uses have come to 0, linked by `next`.
  virtual TensorState* take_dropped() = 0;
  virtual void give_back(TensorState* tensor) = 0;
};

// Why a session has failed. `line` as in CallLog.
struct SessionFailure {
  std::string what;
  std::optional<std::uint32_t> line = {};
};

// A session's graph lives in epochs. In an epoch, ops are only appended. When many have been, all
// that was handed out completes, and a new epoch begins with the tensors that are still in use as
// given ones, numbered anew. So what the past takes is bounded, whichever of its tensors live on.
//
// For use by one thread at a time.
class SessionEngine {
 public:
  SessionEngine(const Machine& machine, const OpRegistry& ops, Mode mode, std::uint64_t seed,
                std::function<void()> on_news, TensorExchange& tensors);
  ~SessionEngine();

  // Hands out calls of the log from number `begin` on, as one window: as many as make a window of
  // reasonable size. Returns the number of the first call that is left. Blocks while a memory has
  // no room, and plans: throws what the planner throws.
  std::size_t hand_out(const CallLog& log, std::size_t begin, std::size_t& first_input);
  // Takes back the windows that have completed, and frees what was dropped. Returns whether a
  // window has completed.
  bool retire();
  // Lets the actors act: until a window has completed or the run is over, for about 50 ms at most.
  void proceed() { runtime_.proceed(); }

  bool is_idle() const { return in_flight_.empty(); }
  std::size_t windows() const { return in_flight_.size(); }
  // Ops and transfers that are handed out and not known to be done.
  std::uint64_t items_in_flight() const { return items_sent_ - runtime_.items_done(); }
  // The run has ended early. Waits for the actors to end.
  bool has_failed() const { return runtime_.is_over(); }
  SessionFailure failure();
  // The calls that have been carried out: all up to this one, of those ever handed out.
  std::uint64_t completed() const {
    return in_flight_.empty() ? handed_out_ : in_flight_.front().calls_before;
  }

  bool has_values() const { return setting_.has_values(); }
  std::string_view mode_name() const { return setting_.name; }
  // The values of a tensor that has been made, where it is in RAM; they stay there as long as it is
  // in use. Else null.
  const std::byte* data(const TensorState& tensor) const;
  // A copy of them. Blocks. Throws a run Error if its file can't be read.
  void read(const TensorState& tensor, std::vector<std::byte>& out) const;

  // Begin and end what is measured. Nothing may be in flight.
  void begin_measure();
  ScenarioReport end_measure(const std::string& name);

 private:
  struct InFlight {
    Window window;                      // without its shares
    std::vector<ReplicaId> to_release;  // when it has completed
    std::uint64_t calls_before = 0;     // handed out before this window
  };

  void renew();
  OpId append(const CallLog::Call& call, std::span<TensorState* const> inputs);
  void add_given(OpId op, TensorState& tensor);
  void send(PlannedWindow planned);
  void release(TensorState* dropped);
  void hold(const PlannedWindow& planned, InFlight& entry);
  void release_copies(TensorState& tensor);
  bool await_window();

  const Machine& machine_;
  const OpRegistry& ops_;
  const RunSetting setting_;
  TensorExchange& tensors_;
  MemoryStore store_;
  ActorRuntime runtime_;  // after the store, which its actors use
  std::deque<InFlight> in_flight_;
  std::uint32_t next_window_ = 0;
  std::uint64_t items_sent_ = 0;
  std::uint64_t handed_out_ = 0;  // calls
  std::uint64_t room_bytes_;      // what one window should make at most

  // The epoch.
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<WindowPlanner> planner_;
  std::unique_ptr<Summary> summary_;     // while something is measured
  std::vector<OpTemplateId> templates_;  // by signature
  std::vector<TensorState*> tensor_of_;  // by op; null: nobody uses it
  std::vector<std::uint32_t> line_of_;   // by op
  std::size_t kept_ = 0;                 // tensors that it began with
  std::size_t loaded_ = 0;               // kernels of op classes before it have been loaded
  std::optional<Instant> measured_since_;
};

}  // namespace troupe
