#include "actors/actor_runtime.hpp"

#include "actors/actor_threads.hpp"
#include "actors/coordinator_actor.hpp"
#include "actors/device_actor.hpp"
#include "actors/link_actor.hpp"
#include "actors/messages.hpp"
#include "actors/real_clock.hpp"
#include "actors/virtual_time.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using News = ActorRuntime::News;

// Where actors live, and how time passes there: the one difference between a real run and a
// simulation that this room knows.
class ActorSystemSetup {
 public:
  ActorSystemSetup(bool virtual_time, std::uint64_t seed) : virtual_time_(virtual_time) {
    if (virtual_time) {
      config_.load<VirtualTime>();
    } else {
      config_.load<ActorThreads>();
    }
    system_ = std::make_unique<caf::actor_system>(config_);
    if (virtual_time) {
      VirtualTime::of(*system_).set_seed(seed);
    } else {
      real_clock_.emplace(*system_);
    }
  }

  caf::actor_system& system() { return *system_; }
  Clock& clock() {
    if (virtual_time_) return VirtualTime::of(*system_).clock();
    return *real_clock_;
  }
  // What is interrupted runs only where nothing else wants to.
  void give_way() {
    if (!virtual_time_) ActorThreads::of(*system_).give_way();
  }
  // The thread of an actor that may block; null where time is virtual. Throws std::system_error
  // where the host gives no more threads.
  caf::execution_unit* start_thread(Waiting waiting) {
    return virtual_time_ ? nullptr : ActorThreads::of(*system_).start_own_thread(waiting);
  }
  // That of an actor that shares threads with others: null. Throws likewise.
  caf::execution_unit* start_shared_thread() {
    if (!virtual_time_) ActorThreads::of(*system_).start_shared_thread();
    return nullptr;
  }
  // How many threads start_shared_thread() starts in that many calls.
  std::size_t shared_threads_for(std::size_t actors) const {
    return virtual_time_ ? 0 : ActorThreads::of(*system_).shared_threads_for(actors);
  }
  Duration stall_check_interval() const { return virtual_time_ ? 0ms : 1000ms; }

  bool has_virtual_time() const { return virtual_time_; }
  // Virtual time stands still when what is done may lead to more work.
  void pause() {
    if (virtual_time_) VirtualTime::of(*system_).pause();
  }
  // Lets virtual time pass. False where nothing is left to happen.
  bool proceed() {
    constexpr std::size_t events = 1 << 14;
    return VirtualTime::of(*system_).run(events) > 0;
  }
  // Under virtual time, delivers what was sent; otherwise actors' threads do.
  void settle() {
    while (virtual_time_ && proceed()) {
    }
  }

 private:
  bool virtual_time_;
  caf::actor_system_config config_;
  std::optional<RealClock> real_clock_;  // before the system: actors use it until they are gone
  std::unique_ptr<caf::actor_system> system_;
};

// What the coordinator's thread hands over.
class Deliveries {
 public:
  void put(ResourceShares window) {
    {
      const std::lock_guard lock(mutex_);
      windows_.push_back(std::move(window));
      if (awaited_ == News::end) return;
    }
    changed_.notify_one();
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
  }
  void wait_for(News awaited, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    awaited_ = awaited;
    changed_.wait_for(lock, time,
                      [&] { return is_over_ || (awaited == News::windows && !windows_.empty()); });
  }
  std::optional<ResourceShares> take() {
    const std::lock_guard lock(mutex_);
    if (windows_.empty()) return std::nullopt;
    ResourceShares window = std::move(windows_.front());
    windows_.pop_front();
    return window;
  }
  bool is_over() const {
    const std::lock_guard lock(mutex_);
    return is_over_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ResourceShares> windows_;
  News awaited_ = News::windows;
  bool is_over_ = false;
};

}  // namespace

class ActorRuntime::Impl {
 public:
  Impl(const Machine& machine, const OpRegistry& ops, MemoryStore& store, const RunSetting& setting,
       const ActorRuntimeOptions& options)
      : on_news_(options.on_news),
        result_(hooks_.result.get_future()),
        setup_(setting.has_virtual_time, options.seed),
        context_{
            machine, ops,
            store,   setup_.clock(),
            setting, options.interrupted != nullptr ? *options.interrupted : never_interrupted},
        resources_(std::make_shared<std::vector<caf::actor>>(machine.devices.size() +
                                                             machine.links.size())),
        interruption_(options.interrupted, options.grace) {
    hooks_.resource_name = [&machine](ResourceId r) { return resource_name(machine, r); };
    hooks_.interrupted = &context_.interrupted;
    hooks_.on_end = [this] {
      took_ = std::chrono::steady_clock::now() - begun_;
      deliveries_.end();
      if (on_news_) on_news_();
    };
    hooks_.on_watched = [this] {
      setup_.pause();
      if (on_news_) on_news_();
    };
    hooks_.on_window_done = [this](ResourceShares window) {
      deliveries_.put(std::move(window));
      setup_.pause();
      if (on_news_) on_news_();
    };
    coordinator_ = spawn_coordinator(setup_.system(), resources_, hooks_, setup_.clock(),
                                     setup_.stall_check_interval(), coordinator_thread());
  }

  ~Impl() {
    interrupt();  // also ends actors that were never told to begin
    while (!is_over()) {
      proceed(News::end);
      while (deliveries_.take()) {
      }
    }
    // Actors that joined too late, which the coordinator doesn't know, and those that were left.
    // The destructor of the actor system waits for them.
    for (const caf::actor& r : *resources_) {
      if (r) caf::anon_send_exit(r, caf::exit_reason::kill);
    }
    setup_.settle();
  }

  // Spawns the actors of resources that have work for the first time.
  void send_window(Window window) {
    sent_.push_back(window.without_shares());
    if (interruption_.has_come()) return interrupt();
    if (context_.setting.has_values()) load_kernels(context_.ops, window);
    AddWindow message{std::move(window), {}};
    for (const auto& [resource, share] : message.window.shares) {
      if (!(*resources_)[resource.index()]) message.joining.push_back(resource);
    }
    const std::vector<caf::execution_unit*> threads = start_threads(message.joining);
    for (std::size_t i = 0; i < threads.size() && !interruption_.has_come(); ++i) {
      spawn(message.joining[i], threads[i]);
    }
    if (interruption_.has_come()) return interrupt();
    send(std::move(message));
  }

  template <class Message>
  void send(Message message) {
    caf::anon_send(coordinator_, std::move(message));
  }
  // Before what waits in the mailbox, which may be millions of messages where thousands of actors
  // are at work.
  template <class Message>
  void send_first(Message message) {
    caf::anon_send<caf::message_priority::high>(coordinator_, std::move(message));
  }
  void interrupt() {
    if (std::exchange(is_interrupted_, true)) return;
    setup_.give_way();
    send_first(Interrupt{});
  }

  void begin() {
    if (has_begun_) return;
    has_begun_ = true;
    begun_ = std::chrono::steady_clock::now();
    send(Begin{});
  }

  void proceed(News awaited) {
    if (interruption_.has_come()) interrupt();
    if (interruption_.is_grace_over() && !std::exchange(has_left_, true)) send_first(Leave{});
    if (!setup_.has_virtual_time()) return deliveries_.wait_for(awaited, 50ms);
    if (setup_.proceed()) return;
    // The coordinator looks twice and then ends a run that is stuck.
    TROUPE_ASSERT(++idle_rounds_ < 8);
    send(CheckStall{});
  }

  void expect_events() { idle_rounds_ = 0; }
  // Windows complete in their order.
  std::optional<Window> take_window() {
    std::optional<ResourceShares> shares = deliveries_.take();
    if (!shares) return std::nullopt;
    Window window = std::move(sent_.front());
    sent_.pop_front();
    window.shares = std::move(*shares);
    return window;
  }
  std::vector<Window> take_left() {
    RunResult& result = received_result();
    std::vector<Window> left;
    while (std::optional<Window> window = take_window()) left.push_back(std::move(*window));
    std::move(sent_.begin(), sent_.end(), std::back_inserter(left));
    sent_.clear();
    for (auto& [resource, share] : std::exchange(result.shares, {})) {
      TROUPE_ASSERT(!left.empty());
      const std::size_t place = share.window - left.front().number;
      TROUPE_ASSERT(place < left.size());
      left[place].shares.emplace_back(resource, std::move(share));
    }
    return left;
  }
  bool is_over() const { return deliveries_.is_over(); }
  Instant now() { return setup_.clock().instant(); }
  std::uint64_t items_done() const { return hooks_.items_done; }
  RunResult take_result() { return std::move(received_result()); }

 private:
  RunResult& received_result() {
    if (!received_) {
      received_ = result_.get();
      received_->took = took_;
    }
    return *received_;
  }

  caf::execution_unit* coordinator_thread() {
    try {
      return setup_.start_thread(Waiting::asleep);
    } catch (const std::exception& error) {
      throw not_set_up(
          fmt::format("could not start 3 threads for the run's actors: {}", error.what()));
    }
  }

  bool is_device(ResourceId resource) const {
    return resource.index() < context_.machine.devices.size();
  }

  // One for each device; links share some.
  std::vector<caf::execution_unit*> start_threads(const std::vector<ResourceId>& resources) {
    const auto devices = static_cast<std::size_t>(std::count_if(
        resources.begin(), resources.end(), [this](ResourceId r) { return is_device(r); }));
    const std::size_t wanted = devices + setup_.shared_threads_for(resources.size() - devices);
    std::vector<caf::execution_unit*> threads;
    try {
      for (const ResourceId r : resources) {
        if (interruption_.has_come()) break;
        threads.push_back(is_device(r) ? setup_.start_thread(Waiting::briefly)
                                       : setup_.start_shared_thread());
      }
    } catch (const std::exception& error) {
      throw not_set_up(fmt::format(
          "could not start {}, one for each device that has work, and those that links share: {}",
          format_count(wanted, "thread"), error.what()));
    }
    return threads;
  }

  void spawn(ResourceId resource, caf::execution_unit* thread) {
    caf::actor& actor = (*resources_)[resource.index()];
    try {
      if (is_device(resource)) {
        actor = spawn_device(setup_.system(), context_, DeviceId::at(resource.index()),
                             coordinator_, thread);
      } else {
        const std::size_t link = resource.index() - context_.machine.devices.size();
        actor = spawn_link(setup_.system(), context_, LinkId::at(link), coordinator_);
      }
    } catch (const std::exception& error) {
      throw not_set_up(fmt::format("could not set {} up: {}",
                                   resource_name(context_.machine, resource), error.what()));
    }
  }

  // A usage Error as long as nothing has happened.
  Error not_set_up(std::string problem) const {
    return {has_begun_ ? ErrorKind::failed : ErrorKind::usage, SourcePlace{}, std::move(problem),
            "give this process more threads and memory (ulimit -u, ulimit -v), or let fewer "
            "devices, streams and cores have work"};
  }

  // What the actors use until the actor system is gone.
  const std::function<void()> on_news_;
  Deliveries deliveries_;
  CoordinatorHooks hooks_;
  std::chrono::steady_clock::time_point begun_{};
  Duration took_{0};

  std::future<RunResult> result_;
  std::optional<RunResult> received_;
  ActorSystemSetup setup_;
  const RunContext context_;
  const std::shared_ptr<std::vector<caf::actor>> resources_;  // null: without work so far
  caf::actor coordinator_;
  bool has_begun_ = false;
  Interruption interruption_;
  bool is_interrupted_ = false;  // the coordinator was told
  bool has_left_ = false;        // likewise
  int idle_rounds_ = 0;
  std::deque<Window> sent_;  // and not taken, without shares
};

void load_kernels(const OpRegistry& ops, const Window& window) {
  for (const auto& [resource, share] : window.shares) {
    for (const Share::Kernel& kernel : share.kernels) {
      if (const auto load = ops[kernel.kind].load; load != nullptr) load();
    }
  }
}

ActorRuntime::ActorRuntime(const Machine& machine, const OpRegistry& ops, MemoryStore& store,
                           const RunSetting& setting, const ActorRuntimeOptions& options)
    : impl_(std::make_unique<Impl>(machine, ops, store, setting, options)) {}
ActorRuntime::~ActorRuntime() = default;

void ActorRuntime::send(Window window) {
  impl_->expect_events();
  impl_->send_window(std::move(window));
}
void ActorRuntime::send_end() {
  impl_->send(EndOfWindows{});
}
void ActorRuntime::watch(const WindowItem& item) {
  impl_->send(Watch{item});
}
void ActorRuntime::begin() {
  impl_->begin();
}
void ActorRuntime::proceed(News awaited) {
  impl_->proceed(awaited);
}
std::optional<Window> ActorRuntime::take_window() {
  return impl_->take_window();
}
std::vector<Window> ActorRuntime::take_left() {
  return impl_->take_left();
}
Instant ActorRuntime::now() const {
  return impl_->now();
}
bool ActorRuntime::is_over() const {
  return impl_->is_over();
}
std::uint64_t ActorRuntime::items_done() const {
  return impl_->items_done();
}
RunResult ActorRuntime::take_result() {
  return impl_->take_result();
}

}  // namespace troupe
