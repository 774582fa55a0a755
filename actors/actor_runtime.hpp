// The actors of one run: set up, given windows, and gone when the runtime is destroyed.
#pragma once

#include "actors/interruption.hpp"
#include "actors/run_setting.hpp"
#include "core/backend/link_use.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/ops/registry.hpp"
#include "core/plan/plan.hpp"
#include "core/result/summary.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class NodeResources;

struct ActorRuntimeOptions {
  std::uint64_t seed = 0;
  // Called on another thread when there is a window to take, an item that is watched has finished,
  // or the run is over; may be empty.
  std::function<void()> on_news = {};
  // The run ends early when this becomes true. Any thread or signal handler may set it.
  const std::atomic<bool>* interrupted = nullptr;
  Duration grace = interrupt_grace;  // for what is under way then
  NodeResources* nodes = nullptr;    // where the devices and links are; null: in this process
  std::span<LinkUse> uses = {};      // by LinkId: written as links copy; may be empty
  Instant begins_at{};               // of virtual time, which real time ignores
  // The run ends so long after it has begun, if it is still on, as if it were interrupted; but
  // what is under way then is waited for. None: it doesn't.
  std::optional<Duration> pause_after = {};
  // Nodes of this process, which is a simulation, that are lost at these times: what is under way
  // there ends, with the transfers from and to them, and the run fails for this cause if it is
  // still on.
  struct Loss {
    Instant at;
    NodeId node;
    std::string cause;
  };
  std::vector<Loss> losses = {};
};

// A coordinator, and an actor for each device and each link that has work, with the scheduler and
// the clock of the mode. Windows are sent to them, and come back in the same order with the records
// of their items: run files, streams and sessions all go this way. For use by one thread.
//
// A run that is interrupted is over as soon as nothing is under way, or when the grace is over:
// what is under way then is left, and named in the result. Its actors go on until it has ended.
class ActorRuntime {
 public:
  // Machine, ops, store and setting must outlive the runtime. Throws a usage Error where the host
  // hasn't enough threads.
  ActorRuntime(const Machine& machine, const OpRegistry& ops, MemoryStore& store,
               const RunSetting& setting, const ActorRuntimeOptions& options);
  // Blocks until the actors are gone, and so what they have under way; a run that isn't over is
  // interrupted.
  ~ActorRuntime();

  // Windows may be sent before and while the actors act, but none after send_end(). Their replicas
  // must be installed where the store tracks them. Loads the libraries that the window's kernels
  // need, warms up devices while the run hasn't begun, and spawns the actors of devices and links
  // that have work for the first time, on threads: one for each such device, and a few that the
  // links share. Throws what load_kernels() and warm_up_kernels() throw, and an Error where the
  // host hasn't enough threads or memory, a usage Error before begin(), else a run Error. The
  // actors don't get the window then, and neither do they once the run is interrupted: it is one
  // of take_left().
  void send(Window window);
  void send_end();
  // Calls on_news, and lets proceed() return, when this item of a window that was sent has
  // finished: soon if it has. Thread-safe.
  void watch(const WindowItem& item);
  // The actors begin with the first window.
  void begin();

  // Lets them act: until there is news, but for about 50 ms at most, or some thousand events of
  // virtual time. Ends the run if it is interrupted. A window to take is no news for a caller who
  // isn't to be woken while others work.
  enum class News { windows, end };
  void proceed(News awaited = News::windows);
  // The next window, with its shares. None: no window has completed that wasn't taken.
  std::optional<Window> take_window();
  // Of a run that is over: all windows that weren't taken, with the shares that came back.
  std::vector<Window> take_left();
  bool is_over() const;
  Instant now() const;               // by the clock of the run
  std::uint64_t items_done() const;  // ops and transfers
  // Of a run that is over; once. It has shares only if take_left() hasn't taken them.
  RunResult take_result();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
