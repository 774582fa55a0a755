// The behaviour of the coordinator: hands windows out, hears when shares are complete, collects
// what is left. It hears of progress in batches and is never between two ops.
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
  // What the actor around it is to do, in order.
  struct SendWindow {
    std::uint32_t window;
  };
  struct WindowDone {  // windows are done in their order
    std::uint32_t window;
  };
  struct StopAll {};     // tell every resource to start nothing more
  struct CollectAll {};  // ask every resource for what is left, which it gives once it is idle
  struct Finish {};      // the run is over: outcome() and failure() are final
  using Command = std::variant<SendWindow, WindowDone, StopAll, CollectAll, Finish>;

  struct WindowSize {
    std::size_t shares = 0;
    std::uint64_t items = 0;
    bool timed = true;
    bool waits = true;  // starts only when all windows before it are done
  };

  // What a resource said when asked how it is.
  struct Status {
    ResourceId resource;
    std::uint32_t in_flight = 0;
    std::uint64_t done = 0;     // items since the run began
    UnitId pending = {};        // the first one that isn't done; none: all are
    std::uint32_t missing = 0;  // notices that it still waits for
  };
  // Why the run failed.
  struct Failure {
    std::string cause;
    UnitId unit = {};                // that failed, if it was one
    std::vector<Status> stuck = {};  // or some of what will never start
  };

  explicit CoordinatorLogic(std::size_t resources);

  // One more window, the first one being number 0; before or while it runs.
  void on_window(const WindowSize& size, Instant now);
  // No further windows will come.
  void on_end_of_windows(Instant now);

  void on_begin(Instant now);
  // `resource` has finished `done` items since the run began.
  void on_progress(ResourceId resource, std::uint64_t done);
  // A share of `window` is complete.
  void on_share_complete(std::uint32_t window, Instant now);
  // Ends the run, be it before it has begun.
  void on_failure(Failure failure);
  void on_interrupt();
  // `resource` has handed in what was left, or is gone.
  void on_collected(ResourceId resource);

  // Everybody has answered. Two rounds that are alike, with nothing in flight and items pending,
  // mean that the run will never end: it fails with that verdict.
  void on_all_statuses(const std::vector<Status>& statuses);

  // The commands that the last event gave; the caller carries them out and empties the list.
  std::vector<Command>& commands() { return commands_; }

  Ending outcome() const { return outcome_; }
  const Failure& failure() const { return failure_; }
  // When the scenario's clock started; none where it never did.
  std::optional<Instant> origin() const { return origin_; }
  bool is_running() const { return phase_ == Phase::running; }
  // No further window starts.
  bool is_ending() const { return phase_ == Phase::collecting || phase_ == Phase::finished; }
  std::uint64_t items_done() const { return items_done_; }
  void check_invariants() const;

 private:
  enum class Phase : std::uint8_t { waiting, running, collecting, finished };

  void proceed(Instant now);
  void end(Ending outcome);

  std::vector<Command> commands_;
  Phase phase_ = Phase::waiting;
  std::deque<WindowSize> windows_;  // not done yet; `shares` are those that aren't complete
  std::uint32_t first_ = 0;         // the number of the first of them
  std::uint32_t sent_ = 0;          // windows, from the first of all on
  bool is_closed_ = false;          // no further windows will come
  std::uint64_t items_sent_ = 0;
  std::uint64_t items_done_ = 0;
  std::vector<std::uint64_t> done_;  // by resource
  std::vector<bool> is_collected_;
  std::size_t missing_ = 0;  // resources that haven't
  std::optional<Instant> origin_;
  std::optional<std::uint64_t> quiet_at_;  // items done when the last round of statuses was quiet
  Ending outcome_ = Ending::done;
  Failure failure_;
};

}  // namespace troupe
