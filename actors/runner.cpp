#include "actors/runner.hpp"

#include "actors/actor_threads.hpp"
#include "actors/coordinator_actor.hpp"
#include "actors/device_actor.hpp"
#include "actors/link_actor.hpp"
#include "actors/messages.hpp"
#include "actors/virtual_time.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "core/result/verify.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// Where actors live, and how time passes there: the one difference between a real run and a
// simulation that this room knows.
class Theatre {
 public:
  Theatre(bool virtual_time, std::uint64_t seed) : virtual_time_(virtual_time) {
    if (virtual_time) {
      config_.load<VirtualTime>();
    } else {
      config_.load<ActorThreads>();
    }
    system_ = std::make_unique<caf::actor_system>(config_);
    if (virtual_time) {
      // It would be asked with each message who speaks, and nobody listens.
      caf::logger::set_current_actor_system(nullptr);
      VirtualTime::of(*system_).set_seed(seed);
    } else {
      mailbox_alarms_.emplace(*system_);
    }
  }

  caf::actor_system& system() { return *system_; }
  AlarmClock& alarms() {
    if (virtual_time_) return VirtualTime::of(*system_).clock();
    return *mailbox_alarms_;
  }
  // Threads for the coordinator, then devices, then links; to be called before they are spawned.
  // Throws a run Error where the host gives no more.
  void prepare(std::size_t devices, std::size_t links) {
    if (virtual_time_) return;
    std::vector<Waiting> threads(1 + devices + links, Waiting::asleep);
    std::fill_n(threads.begin() + 1, devices, Waiting::briefly);
    try {
      ActorThreads::of(*system_).start_threads(threads);
    } catch (const std::system_error& error) {
      throw run_error(
          fmt::format("could not start {} threads: {}", threads.size(), error.what()),
          "use a machine of fewer devices and links, or give this process more threads");
    }
  }
  // The next of them; none where time is virtual.
  caf::execution_unit* next_thread() {
    return virtual_time_ ? nullptr : ActorThreads::of(*system_).thread(threads_given_++);
  }
  Duration pulse() const { return virtual_time_ ? 0ms : 1000ms; }

  // Lets the actors act for a moment. False where nothing is left for them to do.
  bool proceed(const std::future<RunResult>& result) {
    constexpr std::size_t events = 1 << 14;
    if (virtual_time_) return VirtualTime::of(*system_).run(events) > 0;
    result.wait_for(50ms);
    return true;
  }

 private:
  bool virtual_time_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::optional<MailboxAlarms> mailbox_alarms_;  // in real time
  std::size_t threads_given_ = 0;
};

}  // namespace

Run::Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
         RunOptions options)
    : machine_(machine), graph_(graph), scenarios_(scenarios), options_(std::move(options)) {
  std::vector<const DeviceBackendEntry*> backends;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    backends.push_back(&choose_backend(options_.mode, machine, DeviceId::at(d)));
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    choose_backend(options_.mode, machine, LinkId::at(l));
  }
  PlanOptions plan_options{.needs_costs = has_virtual_time(options_.mode),
                           .compare_results = options_.verify && computes_values(options_.mode)};
  if (computes_values(options_.mode)) {
    plan_options.ram_bytes =
        options_.ram_bytes ? *options_.ram_bytes : BufferPool::usable_host_bytes();
    plan_options.has_kernel = [&](DeviceId device, const OpKind& kind) {
      return backends[device.index()]->has_kernel(machine, device, kind);
    };
  }
  for (const Scenario& scenario : scenarios) {
    plans_.push_back(make_plan(graph, machine, scenario, plan_options));
    op_count_ += plans_.back().ops.size();
  }
}

Report Run::perform() {
  Report report;
  report.machine = machine_.name;
  report.mode = options_.mode == Mode::run ? "run" : "simulate";
  report.seed = options_.seed;
  MemoryStore store(machine_, computes_values(options_.mode) ? MemoryStore::Backing::buffers
                                                             : MemoryStore::Backing::accounted);
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    ScenarioReport& scenario = report.scenarios.emplace_back();
    scenario.name = scenarios_[i].name;
    scenario.planned = plans_[i].timed_units();
    if (is_interrupted()) {
      scenario.outcome = Outcome::interrupted;
      continue;
    }
    perform(scenarios_[i], plans_[i], store, report);
    plans_[i] = Plan{};
    store.clear();
    if (scenario.outcome == Outcome::failed) break;
  }
  report.interrupted = is_interrupted();
  return report;
}

void Run::perform(const Scenario& scenario, Plan& plan, MemoryStore& store, Report& report) {
  ScenarioReport& result = report.scenarios.back();
  bool has_begun = report.scenarios.size() > 1;
  try {
    tell(scenario, RunProgress::Stage::reserving, 0, 0);
    // Devices and links at work together hold more than they would in graph order.
    for (std::uint64_t& count : plan.buffers) {
      count *= machine_.devices.size() + machine_.links.size();
    }
    store.install(plan.replicas, graph_.types(), plan.buffers,
                  [this] { return !is_interrupted(); });
    has_begun = true;
    if (is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return;
    }
    RunResult outcome = act(scenario, plan, store);
    result = summarize(graph_, machine_, plan, scenario.name, std::move(outcome));
    if (result.outcome == Outcome::done && options_.verify && computes_values(options_.mode)) {
      check(scenario, plan, store, report);
    }
  } catch (const Error& error) {
    if (!has_begun) throw;
    // What has finished until then stays in the report.
    result.outcome = Outcome::failed;
    result.error = error.what();
  }
}

RunResult Run::act(const Scenario& scenario, Plan& plan, MemoryStore& store) {
  // The actors use it until the theatre is closed.
  Podium podium;
  podium.resource_name = [&](ResourceId r) { return resource_name(machine_, r); };
  std::future<RunResult> result = podium.result.get_future();

  if (computes_values(options_.mode)) {
    for (const OpClass& op : graph_.classes()) {
      if (const auto load = graph_.kinds()[op.kind].load; load != nullptr) load();
    }
  }
  Theatre theatre(has_virtual_time(options_.mode), options_.seed);
  const Stage stage{machine_, graph_.kinds(), store, theatre.alarms(), options_.mode};
  theatre.prepare(machine_.devices.size(), machine_.links.size());
  const caf::actor coordinator =
      spawn_coordinator(theatre.system(), machine_.devices.size() + machine_.links.size(), podium,
                        theatre.pulse(), theatre.next_thread());
  auto resources = std::make_shared<std::vector<caf::actor>>();
  try {
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      resources->push_back(spawn_device(theatre.system(), stage, DeviceId::at(d), coordinator,
                                        theatre.next_thread()));
    }
    for (std::size_t l = 0; l < machine_.links.size(); ++l) {
      resources->push_back(
          spawn_link(theatre.system(), stage, LinkId::at(l), coordinator, theatre.next_thread()));
    }
  } catch (const std::exception& error) {
    for (const caf::actor& r : *resources) caf::anon_send_exit(r, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator, caf::exit_reason::kill);
    throw run_error(
        fmt::format("could not set {} up: {}",
                    resource_name(machine_, ResourceId::at(resources->size())), error.what()),
        "give it fewer streams or cores, or this process more threads");
  }
  const auto begun = std::chrono::steady_clock::now();
  for (Window& window : plan.take_shares()) {
    caf::anon_send(coordinator, TakeWindow{std::move(window)});
  }
  caf::anon_send(coordinator, LastWindow{});
  caf::anon_send(coordinator, Introduce{resources});
  bool told_to_stop = false;
  int idle_rounds = 0;
  while (result.wait_for(0s) != std::future_status::ready) {
    if (!theatre.proceed(result)) {
      // The coordinator looks twice and then ends a run that is stuck.
      TROUPE_ASSERT(++idle_rounds < 8);
      caf::anon_send(coordinator, CheckPulse{});
    }
    tell(scenario, RunProgress::Stage::running, podium.items_done, plan.units.size());
    if (is_interrupted() && !std::exchange(told_to_stop, true)) {
      caf::anon_send(coordinator, Interrupt{});
    }
  }
  RunResult outcome = result.get();
  outcome.took = std::chrono::steady_clock::now() - begun;
  return outcome;
}

void Run::check(const Scenario& scenario, const Plan& plan, const MemoryStore& store,
                Report& report) const {
  ScenarioReport& result = report.scenarios.back();
  std::uint64_t checked = 0;
  const Verdict verdict = verify(graph_, plan, store, [&] {
    tell(scenario, RunProgress::Stage::verifying, ++checked, plan.ops.size());
    return !is_interrupted();
  });
  if (verdict.complete || !verdict.equal) result.verified = verdict.equal;
  result.mismatch = verdict.mismatch;
  const auto digests = std::count_if(plan.results.begin(), plan.results.end(),
                                     [](const Plan::Result& r) { return !r.is_kept; });
  if (result.verified == true && digests > 0) {
    report.notes.push_back(
        fmt::format("'{}': {} of {} results were compared by a digest of 128 bits, taken when the "
                    "last reader was done: to keep them all would have taken more than a quarter "
                    "of a memory. Digests take time within the run; --no-verify leaves them out.",
                    scenario.name, digests, plan.results.size()));
  }
}

bool Run::is_interrupted() const {
  return options_.interrupted != nullptr && options_.interrupted->load();
}

void Run::tell(const Scenario& scenario, RunProgress::Stage stage, std::uint64_t done,
               std::uint64_t total) const {
  if (options_.on_progress) options_.on_progress({scenario.name, stage, done, total});
}

}  // namespace troupe
