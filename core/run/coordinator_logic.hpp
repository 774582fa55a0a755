// The behaviour of the coordinator: sends windows to the resources, receives complete shares, and
// at the end collects the incomplete ones. Resources report progress in batches. The coordinator
// never takes part in the notices between ops.
#pragma once

#include "core/plan/share.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

enum class Ending : std::uint8_t { done, failed, interrupted };

class CoordinatorLogic {
 public:
  // Commands that the coordinator's actor must carry out, in order.
  struct SendWindow {
    std::uint32_t window;
  };
  struct WindowDone {  // windows are done in their order
    std::uint32_t window;
  };
  struct StopAll {};     // request that no resource start any more items
  struct CollectAll {};  // request the remaining shares; each resource sends them once it is idle
  struct Finish {};      // the run is over: outcome() and failure() are final
  using Command = std::variant<SendWindow, WindowDone, StopAll, CollectAll, Finish>;

  struct WindowSize {
    std::size_t shares = 0;
    std::uint64_t items = 0;
    bool timed = true;
    bool waits = true;  // starts only when all windows before it are done
  };

  // The answer of a resource to a request for its status.
  struct Status {
    ResourceId resource;
    std::uint32_t in_flight = 0;
    std::uint64_t done = 0;     // items since the run began
    UnitId pending = {};        // the first unit that isn't done; none: all are done
    std::uint32_t missing = 0;  // notices that the pending unit still waits for
    // Chunks that went to other nodes since the run began, and chunks that came from other nodes.
    // For the whole node of the resource: one status of each node has them in a round.
    std::uint64_t chunks_sent = 0;
    std::uint64_t chunks_arrived = 0;
  };
  // Why the run failed.
  struct Failure {
    std::string cause;
    UnitId unit = {};                // the unit that failed, if a unit did
    std::vector<Status> stuck = {};  // some resources whose pending units will never start
  };

  explicit CoordinatorLogic(std::size_t resources);

  // Appends a window, before or during the run. Windows are numbered from 0.
  void on_window(const WindowSize& size, Instant now);
  // No further windows will come.
  void on_end_of_windows(Instant now);

  void on_begin(Instant now);
  // `resource` has finished `done` items since the run began.
  void on_progress(ResourceId resource, std::uint64_t done);
  // A share of `window` is complete.
  void on_share_complete(std::uint32_t window, Instant now);
  // Ends the run, even if the run has not begun.
  void on_failure(Failure failure);
  void on_interrupt();
  // `resource` has sent its remaining shares, or its actor has died.
  void on_collected(ResourceId resource);

  // All resources have answered a round of status requests. If two rounds in a row show the same
  // number of items done, nothing in flight and items pending, the run can't progress: it fails.
  // Chunks on their way between nodes are in flight. Resources answer at different times, so two
  // rounds must show the same number of chunks: then all of these numbers were right at once,
  // between the rounds.
  void on_all_statuses(const std::vector<Status>& statuses);

  // The commands that resulted from the last event. The caller must carry them out and clear the
  // list.
  std::vector<Command>& commands() { return commands_; }

  Ending outcome() const { return outcome_; }
  const Failure& failure() const { return failure_; }
  // When the scenario's clock started. Returns nullopt if it never did.
  std::optional<Instant> origin() const { return origin_; }
  bool is_running() const { return phase_ == Phase::running; }
  // No further window starts.
  bool is_ending() const { return phase_ == Phase::collecting || phase_ == Phase::finished; }
  // The run is ending, and `resource` has sent its remaining shares or has died.
  bool is_collected(ResourceId resource) const { return is_collected_[resource.index()]; }
  std::uint64_t items_done() const { return items_done_; }
  void check_invariants() const;

 private:
  enum class Phase : std::uint8_t { waiting, running, collecting, finished };

  void proceed(Instant now);
  void end(Ending outcome);

  std::vector<Command> commands_;
  Phase phase_ = Phase::waiting;
  std::deque<WindowSize> windows_;  // not done yet; `shares` counts the incomplete shares
  std::uint32_t first_ = 0;         // the number of windows_.front()
  std::uint32_t sent_ = 0;          // number of windows sent since the run began
  bool is_closed_ = false;          // no further windows will come
  std::uint64_t items_sent_ = 0;
  std::uint64_t items_done_ = 0;
  std::vector<std::uint64_t> done_;  // by resource
  std::vector<bool> is_collected_;
  std::size_t missing_ = 0;  // resources that are not collected yet
  std::optional<Instant> origin_;
  struct Quiet {
    std::uint64_t items_done;
    std::uint64_t chunks_sent;
    friend bool operator==(const Quiet&, const Quiet&) = default;
  };
  std::optional<Quiet> quiet_at_;  // what the last round of statuses showed, if it was quiet
  Ending outcome_ = Ending::done;
  Failure failure_;
};

}  // namespace troupe
