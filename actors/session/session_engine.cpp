#include "actors/session/session_engine.hpp"

#include "core/base/assert.hpp"
#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Planning a window and sending it costs some ten microseconds: little beside so many ops.
constexpr std::size_t window_ops_max = 1 << 13;
// Ops are placed by expected times, and real times differ. So of ops that a policy places, a window
// has at most so much expected work for each device, and no window is planned while each device has
// as much left: those that are planned later are placed by what has been done (decision 40).
constexpr Duration work_ahead = std::chrono::milliseconds(64);
// But a window has so many calls for each device, however long: a choice needs what comes next.
constexpr std::size_t calls_ahead = 32;
// A window may make a quarter of what the smallest memory holds, so that others run beside it.
std::uint64_t room_bytes(const Machine& machine) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Memory& memory : machine.memories) {
    if (memory.size_bytes > 0) least = std::min(least, memory.size_bytes);
  }
  return std::max<std::uint64_t>(1, least / 4);
}

// How many buffers of each type to reserve for a window. Large tensors mostly take the place of
// others, and few of many sizes are there at once, so the ops that make them allocate what is
// missing.
std::vector<std::uint64_t> at_once(std::span<const ReplicaSpec> replicas,
                                   std::span<const TensorType> types) {
  constexpr std::uint64_t bytes_of_a_size = 8 << 20;
  std::uint64_t bytes_left = 64 << 20;
  std::vector<std::uint64_t> counts(types.size());
  for (const ReplicaSpec& replica : replicas) ++counts[replica.type];
  std::map<std::uint64_t, std::uint64_t> left_of_size;
  for (std::size_t t = 0; t < types.size(); ++t) {
    if (counts[t] == 0) continue;
    const std::uint64_t size = buffer_capacity(types[t].bytes());
    std::uint64_t& left = left_of_size.try_emplace(size, bytes_of_a_size / size).first->second;
    counts[t] = std::min({counts[t], left, bytes_left / size});
    left -= counts[t];
    bytes_left -= counts[t] * size;
  }
  return counts;
}

RunSetting setting_of(Mode mode, const Machine& machine, const Cluster* cluster) {
  if (cluster == nullptr) return make_run_setting(mode, machine, false);
  RunSetting setting = make_run_setting(mode, machine, false, Nodes::several);
  setting.widest_team = cluster->widest_team(machine);
  return setting;
}

}  // namespace

SessionEngine::SessionEngine(const Machine& machine, const OpRegistry& ops, Mode mode,
                             std::uint64_t seed, std::function<void()> on_news,
                             PlaceOfLine place_of, TensorExchange& exchange, Cluster* cluster)
    : machine_(machine),
      ops_(ops),
      place_of_(std::move(place_of)),
      exchange_(exchange),
      execution_(machine, ops, setting_of(mode, machine, cluster), MemoryStore::Counting::announced,
                 cluster),
      setting_(execution_.setting()),
      tensors_(execution_, machine, cluster),
      actors_(execution_.start({.seed = seed, .on_news = std::move(on_news)})),
      sent_(machine, !setting_.has_virtual_time),
      room_bytes_(room_bytes(machine)),
      room_(machine, tensors_) {
  renew();
  actors_.begin();
}

SessionEngine::~SessionEngine() {
  if (planned_) release(planned_->unused);
  execution_.end();
}

// Begins an epoch. Nothing is in flight.
void SessionEngine::renew() {
  TROUPE_ASSERT(sent_.empty());
  summary_.reset();  // it refers to the plan
  epoch_ = std::make_unique<SessionEpoch>(machine_, ops_, setting_, place_of_, next_window_,
                                          epoch_.get(), tensors_);
  tensors_.renumber(epoch_->kept());
}

void SessionEngine::hand_out(CallLog& log) {
  has_enough_ = false;
  awaits_readers_ = false;
  while (!has_failed() && send_planned() && log.size() > 0 && begin_window()) {
    const std::vector<Duration> busy = sent_.expected_left();
    has_enough_ = std::all_of(busy.begin(), busy.end(), [](Duration d) { return d > work_ahead; });
    if (has_enough_ || !plan_window(log, busy)) return;
  }
}

// False while windows in flight must complete first.
bool SessionEngine::begin_window() {
  // What is measured needs the units of one epoch.
  if (summary_ != nullptr || !epoch_->is_long()) return true;
  if (!sent_.empty()) return false;
  renew();
  return true;
}

bool SessionEngine::has_room_for_given(const CallLog::Call& call) const {
  const OpTemplate& given = call.signature->op_template;
  const ReplicaSpec spec{.memory = given.placement.memory};
  return tensors_.has_room(spec, given.declared);
}

// False while windows in flight must complete first.
bool SessionEngine::plan_window(CallLog& log, std::span<const Duration> busy) {
  std::size_t end = log.first;
  std::size_t end_input = log.first_input;
  std::uint64_t bytes = 0;
  Duration work{0};
  const std::size_t devices = machine_.devices.size();
  const Duration work_max = work_ahead * static_cast<std::int64_t>(devices);
  OpRanges ops;
  OpId only;
  bool is_alone = false;
  std::optional<Placement> where;  // of a call that is alone
  room_.begin(graph());
  const auto is_next = [&] {
    if (end == log.calls.size()) return false;
    // All that a call makes is in one window.
    if (log.calls[end].signature->output_number > 0) return true;
    if (is_alone) return false;
    const std::size_t calls = end - log.first;
    return calls < window_ops_max && bytes < room_bytes_ &&
           (work < work_max || calls < calls_ahead * devices);
  };
  for (; is_next(); ++end) {
    const CallLog::Call& call = log.calls[end];
    const std::span<TensorState* const> inputs(log.inputs.data() + end_input, call.inputs);
    const bool is_given = call.output->given != nullptr;
    const bool is_further = call.signature->output_number > 0;  // counted with the first output
    if (!is_further && !room_.add(*call.signature, inputs)) {
      if (end > log.first) break;
      if (!sent_.empty()) return false;
      where = make_room(*call.signature, inputs);
      if (!where) return planned_.has_value();
      is_alone = true;  // it may need less than what was counted
      if (is_given && !has_room_for_given(call)) {
        const OpTemplate& given = call.signature->op_template;
        throw no_room(given.placement.memory, given.declared.bytes(), to_string(given.declared))
            .at(place_of_(call.line));
      }
    }
    TensorState& tensor = *call.output;
    tensor.last_used = ++uses_;
    for (TensorState* const input : inputs) input->last_used = uses_;
    epoch_->append(*call.signature, inputs, tensor, call.line, where);
    end_input += call.inputs;
    if (is_alone && !is_further) only = tensor.op;
    if (is_given) {
      add_given(tensor);
    } else {
      ops.append(tensor.op);
      work = std::min(work + epoch_->time_to_place(tensor.op), longest_duration);
    }
    bytes += graph().type(tensor.op).bytes();
  }
  planned_ = Planned{.window = {}, .calls = end - log.first, .only = only, .unused = nullptr};
  // The calls don't count as uses any more, but as readers of replicas.
  const auto drop_use = [&](TensorState* tensor) {
    if (tensor->uses.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    epoch_->forget(tensor->op);
    tensor->next = std::exchange(planned_->unused, tensor);
  };
  for (; log.first_input < end_input; ++log.first_input) drop_use(log.inputs[log.first_input]);
  for (; log.first < end; ++log.first) drop_use(log.calls[log.first].output);
  if (!ops.empty()) plan_ops(std::move(ops), busy);
  return true;
}

void SessionEngine::plan_ops(OpRanges ops, std::span<const Duration> busy) {
  // What isn't measured takes no time in a simulation, like what a scenario prepares.
  const bool timed = summary_ != nullptr || !setting_.has_virtual_time;
  planned_->window = epoch_->planner().plan(
      std::move(ops), [this](OpId op) { return epoch_->tensor_of(op) != nullptr; }, timed, busy);
  free_unread(planned_->window);
  // Nothing that the window reads is freed while it waits for room.
  tensors_.hold(planned_->window);
}

// What an op makes and nobody reads is freed when the op is done, and not with its window. Of ops
// with several outputs, one may be read.
void SessionEngine::free_unread(PlannedWindow& planned) const {
  const ShareTable shares(planned.window);
  std::erase_if(planned.holds, [&](const PlannedWindow::Hold& hold) {
    const Unit& unit = plan().units[maker_of(hold.replica).index()];
    if (epoch_->tensor_of(hold.op) != nullptr || unit.transfer || unit.is_further) return false;
    if (graph().op_class(hold.op).further > 0) return false;
    shares[unit.ref.resource].items[unit.ref.item].frees_result = true;
    return true;
  });
}

void SessionEngine::add_given(TensorState& tensor) {
  const MemoryId memory = graph().placement(tensor.op).memory;
  const ReplicaSpec spec = epoch_->planner().add_given(tensor.op, memory);
  const ReplicaId replica =
      tensors_.give(spec, graph().types(), std::exchange(tensor.given, nullptr), tensor.is_adopted);
  tensor.copies.push_back({replica, 0});
}

Error SessionEngine::no_room(MemoryId memory, std::uint64_t bytes, const std::string& what) const {
  const Memory& full = machine_.memory(memory);
  const bool keeps_copies = summary_ != nullptr && copied_ > 0;  // see evict()
  return run_error(
      fmt::format("memory '{}' is full: {} needed for {}, {} of {} available", full.name,
                  format_bytes(bytes), what, format_bytes(tensors_.bytes_available(memory)),
                  format_bytes(full.size_bytes)),
      std::string("drop handles of tensors that aren't needed, or make tensors smaller") +
          (keeps_copies ? "; or measure less at once: while the clock runs, tensors with copies in "
                          "two memories keep both"
                        : ""));
}

// False while it waits for room.
bool SessionEngine::send_planned() {
  if (!planned_) return true;
  // First, so that ops that read these tensors last may compute in place of them, and what nobody
  // reads makes room.
  release(std::exchange(planned_->unused, nullptr));
  const PlannedWindow& window = planned_->window;
  const std::size_t full = tensors_.first_without_room(window.replicas, graph().types());
  if (full < window.replicas.size()) {
    if (!sent_.empty()) return false;
    const MemoryId memory = window.replicas[full].memory;
    // Mostly there is one call: then it is named, with all that it needs.
    const OpId only = planned_->only;
    const std::size_t end = only ? window.replicas.size() : full + 1;
    std::uint64_t bytes = 0;
    for (const ReplicaSpec& spec : std::span(window.replicas).first(end)) {
      if (spec.memory == memory) bytes += graph().types()[spec.type].bytes();
    }
    const OpId op = only ? only : plan().units[window.window.first.index() + full].op;
    throw no_room(memory, bytes, fmt::format("'{}'", graph().name(op))).at(graph().place(op));
  }
  if (window.window.items > 0) send(std::move(planned_->window));
  handed_out_ += planned_->calls;
  planned_.reset();
  return true;
}

void SessionEngine::send(PlannedWindow planned) {
  tensors_.prepare(planned, first_window_in_flight(), graph().types(),
                   at_once(planned.replicas, graph().types()));
  const std::uint64_t items = planned.window.items;
  TROUPE_ASSERT(planned.window.number == next_window_);
  SentWindows::Entry entry = sent_.make_entry(planned.window, handed_out_);
  actors_.send(std::move(planned.window));  // if it throws, nothing has been noted
  ++next_window_;
  items_sent_ += items;
  hold(planned.holds, sent_.add(std::move(entry)));
}

// The session holds what it may still read, and until the window has completed what nobody reads.
void SessionEngine::hold(std::span<const PlannedWindow::Hold> holds, SentWindows::Entry& entry) {
  for (const PlannedWindow::Hold& held : holds) {
    if (TensorState* const tensor = epoch_->tensor_of(held.op)) {
      tensor->copies.push_back({held.replica, entry.number});
      if (tensor->copies.size() == 2) ++copied_;
    } else {
      entry.to_release.push_back(held.replica);
    }
  }
}

void SessionEngine::release(TensorState* dropped) {
  while (dropped != nullptr) {
    TensorState* const tensor = std::exchange(dropped, dropped->next);
    if (tensor->op) {
      epoch_->forget(tensor->op);
      release_copies(*tensor);
    }
    exchange_.give_back(tensor);
  }
}

// A copy that may not have been made yet must not be freed: if the session is its last reader, it
// is until the window has completed. Else an op that reads it may compute in place of it.
void SessionEngine::release_copies(TensorState& tensor) {
  if (tensor.copies.size() > 1) --copied_;
  for (const TensorState::Copy& copy : tensor.copies) {
    SentWindows::Entry* const window = sent_.find(copy.window);
    if (window == nullptr) {
      tensors_.release(copy.replica);
    } else if (!tensors_.release_unless_last(copy.replica)) {
      window->to_release.push_back(copy.replica);
    }
  }
  tensor.copies.clear();
  tensor.op = {};
}

void SessionEngine::retire() {
  release(exchange_.take_dropped());
  while (const std::optional<Window> window = actors_.take_window()) {
    const SentWindows::Entry done = sent_.take_first();
    if (summary_) summary_->add(*window);
    tensors_.retire(*window);
    for (const ReplicaId r : done.to_release) tensors_.release(r);
  }
  epoch_->planner().on_completed(first_window_in_flight());
  tensors_.flush(is_idle() && !has_failed());
}

UnitId SessionEngine::pending(const TensorState::Copy& copy) const {
  const UnitId unit = maker_of(copy.replica);
  const ItemRef ref = plan().units[unit.index()].ref;
  const bool is_given = !ref.resource;
  return is_given || sent_.has_finished(copy.window, ref) ? UnitId{} : unit;
}

void SessionEngine::watch(UnitId unit) {
  actors_.watch({.window = sent_.window_of(unit).number, .ref = plan().units[unit.index()].ref});
}

Error SessionEngine::failure() {
  if (!actors_.is_over()) return loss();
  const RunResult result = actors_.take_result();
  const CoordinatorLogic::Failure& why = result.failure;
  const std::string disconnection = execution_.await_disconnection(why, plan());
  std::string what =
      disconnection.empty() ? describe(why, graph(), machine_, plan()) : disconnection;
  std::string remedy;
  if (has_lost_node()) {
    const Error lost = loss();
    what = lost.problem();
    remedy = lost.remedy();
  }
  const Error error = run_error(what, remedy);
  return why.unit ? error.at(graph().place(plan().units[why.unit.index()].op)) : error;
}

const std::byte* SessionEngine::data(const TensorState& tensor) const {
  const auto copy = std::ranges::find_if(tensor.copies, [this](const TensorState::Copy& each) {
    return is_host_ram(machine_, tensors_.memory(each.replica));
  });
  return copy != tensor.copies.end() && !pending(*copy) ? tensors_.data(copy->replica) : nullptr;
}

void SessionEngine::read(const TensorState& tensor, std::span<std::byte> out) const {
  tensors_.read(tensor.copies.front().replica, out);
}

void SessionEngine::begin_measure() {
  renew();
  summary_ = std::make_unique<Summary>(graph(), machine_, plan(), true);
  measured_since_ = actors_.now();
}

ScenarioReport SessionEngine::end_measure(const std::string& name) {
  RunResult result;
  result.origin = measured_since_;
  result.took = actors_.now() - *measured_since_;
  ScenarioReport report = summary_->finish(name, result);
  summary_.reset();
  return report;
}

}  // namespace troupe
