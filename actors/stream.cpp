#include "actors/stream.hpp"

#include "actors/execution.hpp"
#include "actors/run_setting.hpp"
#include "core/base/error.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

const StreamOptions& checked(const StreamOptions& options) {
  if (options.windows_in_flight > 0) return options;
  throw usage_error("a stream with no window in flight does nothing",
                    "set windows_in_flight to 1 or more");
}

}  // namespace

class Stream::Core {
 public:
  // As Stream's.
  Core(const Machine& machine, Graph& graph, StreamOptions options);
  bool submit(OpId keep_from);
  ScenarioReport finish(const std::string& name);

 private:
  struct InFlight {
    std::uint32_t number = 0;
    OpId end;          // one past its last op
    ReplicaId oldest;  // the oldest replica that it makes or reads
    std::vector<PlannedWindow::Hold> holds;
  };

  bool plan_and_send(OpId keep_from);
  void note(const PlannedWindow& planned);
  void send_window(PlannedWindow planned);
  // Blocks until a window has completed or the run is over.
  void await_window();
  void retire(const Window& window);
  void release_unread();
  void forget();

  Graph& graph_;
  const StreamOptions options_;
  const std::optional<Machine> completed_;
  const Machine& machine_;
  Execution execution_;
  MemoryStore& store_;
  BufferCache released_;  // collects buffers that go back to the pool together
  WindowPlanner planner_;
  Summary summary_;
  ActorRuntime& actors_;
  std::deque<InFlight> in_flight_;          // the last window may still wait for room
  std::vector<PlannedWindow::Hold> holds_;  // of completed windows
  OpId keep_from_ = OpId::at(0);
  OpId submitted_ = OpId::at(0);  // ops before it have been submitted
  OpId done_ = OpId::at(0);       // ops before it have completed
  ReplicaId installed_{0};        // replicas before it are in the store
  std::optional<Window> unsent_;  // the last window, without its shares, while it waits for room
  std::string refusal_;           // the Error that submit() has thrown
};

Stream::Core::Core(const Machine& machine, Graph& graph, StreamOptions options)
    : graph_(graph),
      options_(checked(options)),
      completed_(completed_machine(options.mode, machine)),
      machine_(completed_ ? *completed_ : machine),
      execution_(machine_, graph.kinds(), make_run_setting(options.mode, machine_, false),
                 MemoryStore::Counting::acquired),
      store_(execution_.store()),
      released_(store_.pool()),
      planner_(graph, machine_, plan_options(execution_.setting(), machine_)),
      summary_(graph, machine_, planner_.plan(), options.keep_timeline),
      actors_(execution_.start({.seed = options.seed, .interrupted = options.interrupted})) {
  actors_.begin();
}

bool Stream::Core::submit(OpId keep_from) {
  if (keep_from.index() > graph_.size()) {
    throw usage_error("the op to keep from isn't in the graph",
                      "give one of its ops, or OpId::at(graph.size()) to keep none");
  }
  if (!refusal_.empty()) return false;
  try {
    return plan_and_send(keep_from);
  } catch (const Error& error) {
    refusal_ = error.what();
    throw;
  }
}

bool Stream::Core::plan_and_send(OpId keep_from) {
  if (submitted_.index() == graph_.size()) return !actors_.is_over();
  while (const std::optional<Window> done = actors_.take_window()) retire(*done);
  while (!actors_.is_over() && in_flight_.size() >= options_.windows_in_flight) await_window();
  if (actors_.is_over()) return false;
  PlannedWindow planned = planner_.plan(keep_from);
  submitted_ = OpId::at(graph_.size());
  note(planned);
  // Readers are added first, so that release_unread() doesn't free the window's inputs.
  for (const ReplicaId r : planned.read_again) store_.add_readers(r, 1);
  keep_from_ = std::max(keep_from_, keep_from);
  release_unread();
  while (!actors_.is_over() && !store_.has_room(planned.replicas, graph_.types())) {
    if (in_flight_.size() == 1) {
      throw usage_error("a memory can't hold what one window makes and what is kept for it",
                        "submit smaller windows, or give the memory more");
    }
    await_window();
  }
  if (actors_.is_over()) return false;
  send_window(std::move(planned));
  return true;
}

void Stream::Core::note(const PlannedWindow& planned) {
  const Window& window = planned.window;
  InFlight& entry = in_flight_.emplace_back();
  entry.number = window.number;
  unsent_ = window.without_shares();
  entry.end = submitted_;
  entry.oldest = ReplicaId{window.first.value};
  for (const ReplicaId r : planned.read_again) entry.oldest = std::min(entry.oldest, r);
  entry.holds = planned.holds;
}

void Stream::Core::send_window(PlannedWindow planned) {
  execution_.prepare(planned, graph_.types(), {}, [this] {
    return options_.interrupted == nullptr || !options_.interrupted->load();
  });
  installed_ = ReplicaId::at(planned.window.first.index() + planned.window.items);
  unsent_.reset();
  actors_.send(std::move(planned.window));
}

void Stream::Core::await_window() {
  while (!actors_.is_over()) {
    if (const std::optional<Window> done = actors_.take_window()) return retire(*done);
    actors_.proceed();
  }
}

// `window` is the oldest one in flight.
void Stream::Core::retire(const Window& window) {
  const InFlight done = std::move(in_flight_.front());
  in_flight_.pop_front();
  summary_.add(window);
  holds_.insert(holds_.end(), done.holds.begin(), done.holds.end());
  done_ = done.end;
  release_unread();
}

// Releases the held replicas that no later window may read.
void Stream::Core::release_unread() {
  std::erase_if(holds_, [this](const PlannedWindow::Hold& hold) {
    if (hold.op >= keep_from_) return false;
    if (store_.is_tracked(store_.memory(hold.replica))) store_.release(hold.replica, released_);
    return true;
  });
  released_.flush();
  forget();
}

// Drops replicas, units and ops that are older than any held replica and any replica that a window
// in flight makes or reads.
void Stream::Core::forget() {
  ReplicaId oldest = installed_;
  for (const InFlight& window : in_flight_) oldest = std::min(oldest, window.oldest);
  for (const PlannedWindow::Hold& hold : holds_) oldest = std::min(oldest, hold.replica);
  store_.forget_before(oldest);
  summary_.forget_before(maker_of(oldest));
  planner_.forget(
      in_flight_.empty() ? std::numeric_limits<std::uint32_t>::max() : in_flight_.front().number,
      oldest);
  graph_.forget_before(std::min(keep_from_, done_));
}

ScenarioReport Stream::Core::finish(const std::string& name) {
  actors_.send_end();
  while (!actors_.is_over()) await_window();
  for (const Window& left : actors_.take_left()) summary_.add(left);
  if (unsent_) summary_.add(*unsent_);
  ScenarioReport report = summary_.finish(name, actors_.take_result());
  if (!refusal_.empty() && report.outcome == Outcome::done) {
    report.outcome = Outcome::failed;
    report.error = refusal_;
  }
  return report;
}

Stream::Stream(const Machine& machine, Graph& graph, StreamOptions options)
    : core_(std::make_unique<Core>(machine, graph, options)) {}

Stream::~Stream() = default;

bool Stream::submit(OpId keep_from) {
  return core_->submit(keep_from);
}

ScenarioReport Stream::finish(const std::string& name) {
  return core_->finish(name);
}

}  // namespace troupe
