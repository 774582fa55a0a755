#include "actors/actor_runtime.hpp"

#include "actors/actor_system_setup.hpp"
#include "actors/coordinator_actor.hpp"
#include "actors/messages.hpp"
#include "actors/node_resources.hpp"
#include "actors/resource_host.hpp"
#include "actors/warm_up.hpp"
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
        setup_(setup_of(setting, options)),
        pause_after_(options.pause_after),
        losses_(options.losses),
        context_{machine, ops,
                 store,   setup_->clock(),
                 setting, options.interrupted != nullptr ? *options.interrupted : never_interrupted,
                 nullptr, options.uses},
        nodes_(options.nodes),
        resources_(*setup_, machine, options.nodes == nullptr),
        interruption_(options.interrupted, options.grace) {
    hooks_.resource_name = [&machine](ResourceId r) { return resource_name(machine, r); };
    hooks_.interrupted = &context_.interrupted;
    hooks_.on_end = [this] {
      took_ = std::chrono::steady_clock::now() - begun_;
      deliveries_.end();
      setup_->pause();
      if (on_news_) on_news_();
    };
    hooks_.on_watched = [this] {
      setup_->pause();
      if (on_news_) on_news_();
    };
    hooks_.on_window_done = [this](ResourceShares window) {
      deliveries_.put(std::move(window));
      setup_->pause();
      if (on_news_) on_news_();
    };
    coordinator_ = spawn_coordinator(setup_->system(), resources_.actors(), hooks_, setup_->clock(),
                                     setup_->stall_check_interval(), coordinator_thread());
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
    for (const caf::actor& r : *resources_.actors()) {
      if (r) caf::anon_send_exit(r, caf::exit_reason::kill);
    }
    setup_->settle(*resources_.actors());
  }

  // Spawns the actors of resources that have work for the first time.
  void send_window(Window window) {
    sent_.push_back(window.without_shares());
    if (interruption_.has_come()) return interrupt();
    if (context_.setting.has_values()) prepare_kernels(window);
    AddWindow message{std::move(window), {}};
    for (const auto& [resource, share] : message.window.shares) {
      if (!resources_.has(resource)) message.joining.push_back(resource);
    }
    resources_.add(
        message.joining,
        [this](ResourceId resource, caf::execution_unit* thread) {
          return nodes_ != nullptr
                     ? nodes_->spawn_stand_in(setup_->system(), resource, coordinator_,
                                              context_.use_of(resource))
                     : spawn_resource(setup_->system(), context_, resource, coordinator_, thread);
        },
        set_up_failure(), [this] { return !interruption_.has_come(); });
    if (interruption_.has_come()) return interrupt();
    send(std::move(message));
  }

  void prepare_kernels(const Window& window) {
    for (const auto& [resource, share] : window.shares) {
      load_kernels(context_.ops, share);
      if (nodes_ == nullptr && !has_begun_) warm_up_kernels(context_, resource, share);
    }
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
    setup_->give_way();
    send_first(Interrupt{});
  }

  void begin() {
    if (has_begun_) return;
    has_begun_ = true;
    begun_ = std::chrono::steady_clock::now();
    send(Begin{});
    if (pause_after_) caf::delayed_anon_send(coordinator_, *pause_after_, Interrupt{});
    for (const ActorRuntimeOptions::Loss& loss : losses_) {
      const Duration left = std::max(loss.at - now(), Duration{0});
      caf::delayed_anon_send(coordinator_, left,
                             LoseResources{resources_of(loss.node), loss.cause});
    }
  }

  void proceed(News awaited) {
    if (interruption_.has_come()) interrupt();
    if (interruption_.is_grace_over() && !std::exchange(has_left_, true)) send_first(Leave{});
    if (!setup_->has_virtual_time()) return deliveries_.wait_for(awaited, 50ms);
    if (setup_->proceed()) return;
    // The coordinator looks twice and then ends a run that is stuck.
    ++idle_rounds_;
    TROUPE_ASSERT(idle_rounds_ < 8);
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
  Instant now() { return setup_->clock().instant(); }
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

  std::vector<ResourceId> resources_of(NodeId node) const {
    std::vector<ResourceId> resources;
    for (std::size_t r = 0; r < resources_.actors()->size(); ++r) {
      const ResourceId resource = ResourceId::at(r);
      if (resource_node(context_.machine, resource) == node) resources.push_back(resource);
    }
    return resources;
  }

  // Nodes under virtual time share theirs with the run.
  static std::shared_ptr<ActorSystemSetup> setup_of(const RunSetting& setting,
                                                    const ActorRuntimeOptions& options) {
    auto shared = options.nodes != nullptr ? options.nodes->shared_setup() : nullptr;
    if (shared != nullptr) return shared;
    return std::make_shared<ActorSystemSetup>(setting.has_virtual_time, options.seed,
                                              options.begins_at);
  }

  caf::execution_unit* coordinator_thread() {
    try {
      return setup_->start_thread(Waiting::asleep);
    } catch (const std::exception& error) {
      throw actors_not_set_up(
          set_up_failure(),
          fmt::format("could not start 3 threads for the run's actors: {}", error.what()));
    }
  }

  // A usage Error as long as nothing has happened.
  ErrorKind set_up_failure() const { return has_begun_ ? ErrorKind::failed : ErrorKind::usage; }

  // What the actors use until the actor system is gone.
  const std::function<void()> on_news_;
  Deliveries deliveries_;
  CoordinatorHooks hooks_;
  std::chrono::steady_clock::time_point begun_{};
  Duration took_{0};

  std::future<RunResult> result_;
  std::optional<RunResult> received_;
  std::shared_ptr<ActorSystemSetup> setup_;
  const std::optional<Duration> pause_after_;
  const std::vector<ActorRuntimeOptions::Loss> losses_;
  const RunContext context_;
  NodeResources* const nodes_;  // null: all actors are in this process
  ResourceHost resources_;
  caf::actor coordinator_;
  bool has_begun_ = false;
  Interruption interruption_;
  bool is_interrupted_ = false;  // the coordinator was told
  bool has_left_ = false;        // likewise
  int idle_rounds_ = 0;
  std::deque<Window> sent_;  // and not taken, without shares
};

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
