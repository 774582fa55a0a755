// The behaviour of the coordinator: windows one after the other, then the records. It hears of
// progress in batches and is never between two ops.
#pragma once

#include "core/plan/share.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <functional>
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
  struct StopAll {};     // tell every resource to start nothing more
  struct CollectAll {};  // ask every resource for its records, which it gives once it is idle
  struct Finish {};      // the run is over: outcome() and origin() are final
  using Command = std::variant<SendWindow, StopAll, CollectAll, Finish>;

  struct WindowSize {
    std::uint64_t items = 0;
    bool timed = true;
  };

  CoordinatorLogic(std::size_t resources, std::vector<WindowSize> windows);

  void on_begin(Instant now);
  // `resource` has finished `done` items of `window` so far.
  void on_progress(ResourceId resource, std::uint32_t window, std::uint64_t done, Instant now);
  // Ends the run, be it before it has begun.
  void on_failure(std::string cause);
  void on_interrupt();
  // `resource` has handed in its records, or is gone.
  void on_records(ResourceId resource);

  // What a resource said when asked how it is.
  struct Status {
    ResourceId resource;
    std::uint32_t in_flight = 0;
    std::uint32_t window = 0;   // of its latest share
    std::uint64_t done = 0;     // of that window
    UnitId pending = {};        // the first of that window that isn't done; none: all are
    std::uint32_t missing = 0;  // notices that it still waits for
  };
  // Everybody has answered. Two rounds that are alike, with nothing in flight and items pending,
  // mean that the run will never end: it fails with that verdict, in which `describe` says, for up
  // to three of them, what is pending and what that waits for.
  void on_all_statuses(const std::vector<Status>& statuses,
                       const std::function<std::string(const Status&)>& describe);

  // The commands that the last event gave; the caller carries them out and empties the list.
  std::vector<Command>& commands() { return commands_; }

  Ending outcome() const { return outcome_; }
  const std::string& cause() const { return cause_; }
  // When the scenario's clock started; none where it never did.
  std::optional<Instant> origin() const { return origin_; }
  bool is_running() const { return phase_ == Phase::running; }
  std::uint64_t items_done() const { return done_before_ + window_done_; }
  void check_invariants() const;

 private:
  enum class Phase : std::uint8_t { waiting, running, collecting, finished };

  void start_window(Instant now);
  void end(Ending outcome);

  std::vector<WindowSize> windows_;
  std::vector<Command> commands_;
  Phase phase_ = Phase::waiting;
  std::uint32_t window_ = 0;
  std::uint64_t window_done_ = 0;
  std::uint64_t done_before_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> done_;  // by resource, of the current window
  std::vector<bool> handed_in_;
  std::size_t records_missing_ = 0;
  std::optional<Instant> origin_;
  std::optional<std::uint64_t> quiet_at_;  // items done when the last round of statuses was quiet
  Ending outcome_ = Ending::done;
  std::string cause_;
};

}  // namespace troupe
